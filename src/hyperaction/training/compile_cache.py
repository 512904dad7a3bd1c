"""Compiled programs on disk, so that the next run need not compile them again.

JAX names an entry after the program (with the names of its kernels), the compiler's options and
flags, and the version of jaxlib. Its own store of entries is replaced here: two runs may write at
once, an entry that was cut off or damaged is found by its digest, old entries make room for new
ones, and no error of the file system reaches a run.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import uuid4

import jax

from hyperaction import kernels
from hyperaction.version import __version__

VARIABLE, NONE = "HYPERACTION_CACHE", "none"
"""The environment variable that switches the cache off, and its value."""

LIMIT = 500_000_000
"""Bytes that entries may take; those that were not used for the longest time go first."""

ENTRY, PART = ".program", ".part"
DIGEST_LENGTH = hashlib.sha256().digest_size


class Usage(NamedTuple):
    """What the cache takes of the disk."""

    entries: int
    bytes: int


def directory() -> Path | None:
    """Where compiled programs are stored; nothing if that is switched off, or there is no home."""
    setting = os.environ.get(VARIABLE, "")
    if setting == NONE:
        return None
    if setting:
        raise ValueError(f"{VARIABLE}={setting} cannot be used: {NONE} switches the cache off")
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # The user has no home.
        return None
    return caches / "hyperaction" / "compiled"


def use() -> None:
    """Has JAX store what it compiles from now on, unless the user has chosen a place for that."""
    folder = directory()
    if folder is None or users_own():
        return
    try:
        from jax._src import compilation_cache
    except ImportError:
        return
    store, config = cast(Any, compilation_cache), cast(Any, jax.config)
    if not hasattr(store, "get_file_cache"):
        return  # Another version of JAX: everything is compiled.
    store.get_file_cache = lambda path: (Programs(Path(path)), path)
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # It would put the path of the cache into the names of entries.
    config.update("jax_persistent_cache_enable_xla_caches", "none")


def users_own() -> str:
    """Another directory that the user has chosen, by JAX_COMPILATION_CACHE_DIR or in Python."""
    return cast(Any, jax.config).jax_compilation_cache_dir or ""


def usage(folder: Path) -> Usage:
    """What the entries in a folder take."""
    sizes = [status.st_size for _, status in _files(folder)]
    return Usage(len(sizes), sum(sizes))


class Programs:
    """Entries by their names, in a folder that several processes may use at once.

    Args:
        folder: Where they are; it is made when the first one is stored.
        limit: Bytes that all of them may take.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self._path, self._limit = folder, limit  # JAX reads `_path` for its messages.

    def get(self, key: str) -> bytes | None:
        """The entry of that name; nothing if there is none, or none that can be used."""
        with suppress(OSError):
            file = self._file(key)
            content = file.read_bytes()
            digest, value = content[:DIGEST_LENGTH], content[DIGEST_LENGTH:]
            if digest == hashlib.sha256(value).digest():
                with suppress(OSError):
                    os.utime(file)  # It was used.
                return value
            file.unlink()
        return None

    def put(self, key: str, value: bytes) -> None:
        """Stores an entry, if there is room on the disk and in the cache."""
        content = hashlib.sha256(value).digest() + value
        if len(content) > self._limit:
            return
        file = self._file(key)
        part = file.with_name(f"{file.name}.{uuid4().hex}{PART}")
        with suppress(OSError):
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(len(content))
            try:
                part.write_bytes(content)
                os.replace(part, file)
            finally:
                part.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        name = hashlib.sha256(f"{key} {_surroundings()}".encode()).hexdigest()
        return self._path / f"{name[:40]}{ENTRY}"

    def _make_room(self, needed: int) -> None:
        files = sorted(_files(self._path), key=lambda each: each[1].st_mtime)
        total = sum(status.st_size for _, status in files) + needed
        for file, status in files:
            if total <= self._limit:
                return
            file.unlink(missing_ok=True)
            total -= status.st_size


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All entries, and what writers that were killed have left."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith((ENTRY, PART)):
                with suppress(OSError):  # Another process may have removed it.
                    yield Path(entry.path), entry.stat()


@cache
def _surroundings() -> str:
    """What a compiled program depends on and JAX leaves out of an entry's name.

    The processor, as a home directory may be used from several machines; the number of threads,
    by which XLA splits loops; and the kernels.
    """
    libraries = sorted(Path(kernels.__file__).parent.rglob("_*.so"))
    built = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in libraries]
    threads = os.environ.get("PJRT_NPROC") or os.cpu_count()
    return f"{__version__} {platform.machine()} {_processor()} {threads} {built}"


def _processor() -> list[str]:
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        return [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return [platform.processor()]
