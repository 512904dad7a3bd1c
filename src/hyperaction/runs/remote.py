"""Runs in places that fsspec knows, such as `s3://bucket/run`: stored here, mirrored there.

A run works in a folder of this machine. When it begins, what is there is brought here; when it has
saved, what is new here is brought there, the checkpoint's manifest last.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hyperaction.runs.lock import locked

LAST = re.compile(r"checkpoint-\d+\.json$")
"""What makes a checkpoint count, and is therefore written after all else."""

HERE_ONLY = ("lock", "output.txt")


def url_of(path: Path | str) -> str | None:
    """The address of a place that is not this machine's file system; nothing for a plain path."""
    # A Path makes one slash of several.
    found = re.fullmatch(r"([a-z][a-z0-9+.-]+):/+(.*)", str(path))
    if not found:
        if ":/" in str(path):
            raise ValueError(f"{path} is not an address such as s3://bucket/run")
        return None
    if found[1] == "memory":
        raise ValueError(f"{path} would be gone with this process")
    if find_spec("fsspec") is None:
        raise ValueError(f"{path} needs fsspec: pip install 'hyperaction[ray]'")
    root = "/" if found[1] in ("file", "local") else ""  # Others begin with a host or bucket.
    return f"{found[1]}://{root}{found[2]}"


def cache_folder(url: str) -> Path:
    """The folder of this machine for a run elsewhere."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "hyperaction" / hashlib.sha256(url.encode()).hexdigest()[:16]


def here(path: Path) -> Path:
    """The folder of this machine where a run works: the path itself, if it is a plain one."""
    url = url_of(path)
    return cache_folder(url) if url else path


class Mirror:
    """A folder elsewhere, and the same folder here.

    Args:
        url: The address of the folder elsewhere.
        folder: The folder here.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self._system, self._root = file_system(url)
        self._pushed: dict[str, tuple[int, int]] = {}

    def pull(self, only: tuple[str, ...] = ()) -> None:
        """Makes the folder here what the one elsewhere is, or only files of these names."""
        with locked(self.folder), _as_os_errors(self.url):
            for path in self.folder.glob("*"):
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name not in HERE_ONLY:
                    path.unlink()
            for name in self._there():
                if name in HERE_ONLY or (only and name.rsplit("/", 1)[-1] not in only):
                    continue
                file = _inside(self.folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                self._system.get_file(f"{self._root}/{name}", str(file))
                self._pushed[name] = _state(file)

    def push(self) -> None:
        """Brings what is new there, and removes what was removed here."""
        with _as_os_errors(self.url):
            self._push()

    def _push(self) -> None:
        here = {
            str(file.relative_to(self.folder)): file
            for file in self.folder.rglob("*")
            if file.is_file() and file.name not in HERE_ONLY and file.suffix != ".part"
        }
        for name in sorted(here, key=lambda name: (bool(LAST.search(name)), name)):
            state = _state(here[name])
            if self._pushed.get(name) != state:
                target = f"{self._root}/{name}"
                self._system.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
                self._system.put_file(str(here[name]), target)
                self._pushed[name] = state
        for name in set(self._pushed) - set(here):
            self._system.rm_file(f"{self._root}/{name}")
            del self._pushed[name]

    def _there(self) -> list[str]:
        try:
            found = self._system.find(self._root)
        except FileNotFoundError:
            return []
        # A path may come back with its root spelt otherwise: what follows the folder's name counts.
        length = len(self._system._strip_protocol(self._root))
        return [str(path)[length:].removeprefix("/") for path in found]


RESULTS = ("config.json", "metrics.jsonl", "progress.json", "agent.safetensors")
"""What is left of a run for those who look at it."""


def to_read(path: Path) -> Path:
    """A folder to read results from: the path itself, or a copy of what is elsewhere."""
    url = url_of(path)
    if url is None:
        return path
    folder = cache_folder(f"{url} to read")
    Mirror(url, folder).pull(only=RESULTS)
    return folder


def file_system(url: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    from fsspec.core import url_to_fs

    try:
        system, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{url}: {error}") from None
    return system, str(root).rstrip("/")


@contextmanager
def _as_os_errors(url: str) -> Iterator[None]:
    """Turns the errors of object stores into errors of the system."""
    try:
        yield
    except (OSError, ValueError):
        raise
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise OSError(f"{url}: {message}") from error


def _inside(folder: Path, name: str) -> Path:
    """A file of a folder, whatever a stranger's archive calls it."""
    parts = Path(name).parts
    if ".." in parts or Path(name).is_absolute() or not parts:
        raise ValueError(f"{name} is not the name of a file inside a run")
    return folder / name


def _state(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_size, about.st_mtime_ns
