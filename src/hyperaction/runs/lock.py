"""One process per run directory."""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

LOCK = "lock"


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Holds a run's directory; the system lets go of it however the process ends."""
    with _acquired(out) as file:
        # A child that an environment forks would hold on to the lock after this process.
        reference = weakref.ref(file)
        os.register_at_fork(after_in_child=lambda: _close(reference()))
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _acquired(out: Path) -> IO[str]:
    """The lock's file, held by this process."""
    while True:
        out.mkdir(parents=True, exist_ok=True)
        file = _open(out / LOCK)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                owner = file.read().strip() or "unknown"
            raise ValueError(f"another process (number {owner}) is training in {out}") from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), (out / LOCK).stat()):
                return file
        file.close()  # The process that held it has removed it meanwhile.


def _open(path: Path) -> IO[str]:
    """Opens a file for reading and writing, but not through a link."""
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+")
    except OSError as error:
        if path.is_symlink():
            raise ValueError(f"{path} is a link; remove it") from error
        raise


def _close(file: IO[str] | None) -> None:
    if file is not None:
        file.close()
