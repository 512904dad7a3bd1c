"""A second process that watches the first: an environment may hang, or crash the run.

The run notes in a page of shared memory when it calls its environment, and the watchdog looks at it
now and then. This file is also the watchdog's program, which needs nothing but Python.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PAGE = struct.Struct("d32s")
"""When the environment was called, on the system's clock (0: it is not), and which call it is."""

LATE = struct.Struct("d")
"""After the page, written by the watchdog: when the call that takes too long was made."""

SIZE = PAGE.size + LATE.size

KILL_GRACE_S = 5.0
"""Seconds that a run is given to end by itself, at most as many as the environment was."""


class Watchdog:
    """Ends a run whose environment takes too long, and reports when one ends suddenly.

    Args:
        limit: Seconds that a call of the environment may take; 0 is no limit.
        late: Makes the error that is raised in a call that took too long, of its name.
    """

    def __init__(self, limit: float, late: Callable[[str], Exception]) -> None:
        self._late = late
        with tempfile.TemporaryFile() as file:
            file.truncate(SIZE)
            self._page = mmap.mmap(file.fileno(), SIZE)
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", __file__),
                    *(str(file.fileno()), str(limit), str(os.getpid())),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[file.fileno()],
                start_new_session=True,  # Ctrl-C is for the run.
            )
        self._before = signal.signal(signal.SIGUSR1, self._raise)

    @contextmanager
    def __call__(self, call: str) -> Iterator[None]:
        """Inside, the environment is being called."""
        PAGE.pack_into(self._page, 0, time.monotonic(), call.encode())
        try:
            yield
        finally:
            PAGE.pack_into(self._page, 0, 0.0, b"")

    def _raise(self, number: int, frame: Any) -> None:
        since, call = PAGE.unpack_from(self._page)
        (late,) = LATE.unpack_from(self._page, PAGE.size)
        # The environment may have answered just now, and others may send this signal too.
        if since and since == late:
            raise self._late(_name(call))

    def __enter__(self) -> Watchdog:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        signal.signal(signal.SIGUSR1, self._before)


def _name(call: bytes) -> str:
    return call.rstrip(b"\0").decode()


def _watch(page: mmap.mmap, limit: float, run: int) -> str:
    """Watches until the run has ended or must be ended; the message about it."""
    pause = min(1.0, limit / 10) if limit else 1.0
    suspended_s, watched, looked = 0.0, 0.0, time.monotonic()
    while True:
        ended, _, _ = select.select([sys.stdin], [], [], pause)
        before, looked = looked, time.monotonic()
        since, call = PAGE.unpack_from(page)
        if since != watched:
            suspended_s, watched = 0.0, since
        if _is_suspended(run):
            suspended_s += looked - before  # On a busy machine, more than the pause.
        if ended or os.getppid() != run:
            where = f" in the environment's {_name(call)}" if since else ""
            return f"the run ended suddenly{where}: it was killed, or crashed"
        if not limit or not since or time.monotonic() - since - suspended_s < limit:
            continue
        LATE.pack_into(page, PAGE.size, since)
        os.kill(run, signal.SIGUSR1)
        time.sleep(min(KILL_GRACE_S, limit))
        if PAGE.unpack_from(page) == (since, call) and os.getppid() == run:
            os.kill(run, signal.SIGKILL)
            return f"the environment's {_name(call)} took more than {limit:g} s and was killed"


def _is_suspended(run: int) -> bool:
    """Whether somebody, such as Ctrl-Z, has stopped the run, which is then not slow."""
    try:
        with open(f"/proc/{run}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "Tt"
    except (OSError, IndexError):  # Not on every system.
        return False


def _main() -> None:
    # The run by its number: it may have ended before this process could ask for its parent.
    file, limit, run = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    message = _watch(mmap.mmap(file, SIZE), limit, run)
    cursor = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # A progress bar hides the cursor.
    resume = "rerun the same command to resume from the last checkpoint"
    print(f"{cursor}hyperaction: {message}; {resume}", file=sys.stderr)


if __name__ == "__main__":
    _main()
