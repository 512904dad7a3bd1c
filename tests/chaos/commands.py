"""Commands under observation: in this process, or in one that can be killed."""

import contextlib
import multiprocessing
import os
import re
import signal
import time
import traceback
from functools import cache
from io import StringIO
from multiprocessing import forkserver
from pathlib import Path
from typing import NamedTuple

from hyperaction.cli import main

LIMIT_S = 20.0
"""Seconds that a command may take in this process, where all is compiled; see `time_limit`."""

PROCESS_LIMIT_S = 120.0
"""Seconds for one in a process of its own, which loads and compiles; six times as many where it
computes, on a machine that has other work too."""

IDLE_S = 5.0
"""A process that has not computed for so many seconds waits for something."""

TAG = "HYPERACTION_CHAOS"
"""The variable that marks every process which a trial starts."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class ViolationError(Exception):
    """What must hold does not."""


class TooSlowError(BaseException):
    """Time is up; not an `Exception`, so that nothing but the trial handles it."""


class Result(NamedTuple):
    """What a command did."""

    code: int | None
    out: str
    err: str

    def check(self):
        """Raises unless it was a result or a refusal in one line, without escape codes."""
        lines = self.err.splitlines()
        if "Traceback" in self.err:
            raise ViolationError(f"traceback: {lines[-1]}")
        if self.code not in (0, 1, 2, 130):
            raise ViolationError(f"exit code {self.code}: {self.err[-300:]!r}")
        if self.code and len(lines) != 1:
            raise ViolationError(f"refused in {len(lines)} lines: {self.err[-300:]!r}")
        if other := [line for line in lines if not line.startswith("hyperaction: ")]:
            raise ViolationError(f"an error that is not ours: {other[0]!r}")
        if found := CONTROL.search(self.out + self.err):
            raise ViolationError(f"a control character is printed: {found[0]!r}")
        return self


@contextlib.contextmanager
def time_limit(seconds, busy_seconds=None):
    """Raises once the time is up, wherever that is.

    Args:
        seconds: For what waits, such as for a file that nobody writes to.
        busy_seconds: For what computes, of computing; six times as many.
    """
    late, began, computed = [], time.monotonic(), time.process_time()
    busy_seconds, last = busy_seconds or 6 * seconds, _active_s("self")

    def ring(number, frame):
        nonlocal last
        before, last = last, _active_s("self")
        if last - before > 0.01 and time.process_time() - computed < busy_seconds:
            return
        late.append("".join(traceback.format_stack(frame)[-1:]))
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, ring)
    # Again every second, in case something handles everything.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except TooSlowError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    if late:
        where = " ".join(late[0].split())
        raise ViolationError(f"took more than {time.monotonic() - began:.0f} s, in {where}")


def here(*args, seconds=LIMIT_S):
    """A command in this process."""
    out, err = StringIO(), StringIO()
    code: int | None = None
    with (
        time_limit(seconds),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno} ({frame.name})"
            about = f"{type(error).__name__}: {str(error)[:200]}"
            raise ViolationError(f"traceback: {about} in {where}") from error
    return Result(code, out.getvalue(), err.getvalue())


@cache
def _fork_server():
    """What starts processes: one that has loaded all modules, and is not of any trial."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.chaos.child"])
    mark = os.environ.pop(TAG)
    forkserver.ensure_running()
    os.environ[TAG] = mark
    return context


class Child:
    """A command in a process of its own: forked from one that has loaded all modules."""

    def __init__(self, folder, *args, fault=None):
        from tests.chaos import child

        context = _fork_server()
        folder.mkdir(parents=True, exist_ok=True)
        self.files = folder / "stdout", folder / "stderr"
        texts = [str(arg) for arg in args]
        self.process = context.Process(
            target=child.run, args=(texts, self.files, os.environ[TAG], fault)
        )
        self.process.start()

    def wait_until(self, condition, seconds=PROCESS_LIMIT_S):
        """Waits until something is so; False if the process ended before."""
        is_late = self._deadline(seconds)
        while not condition():
            if not self.process.is_alive():
                return False
            if is_late():
                self.kill()
                raise ViolationError(f"nothing happened for {seconds:g} s")
            time.sleep(0.005)
        return True

    def _deadline(self, seconds):
        """A function that says whether the process takes too long."""
        began = looked = time.monotonic()
        active, is_idle = 0.0, False

        def is_late():
            nonlocal looked, active, is_idle
            now = time.monotonic()
            if now - looked > IDLE_S:
                before, active = active, _active_s(self.process.pid)
                looked, is_idle = now, active - before < 0.01
            return now - began > (seconds if is_idle else 6 * seconds)

        return is_late

    def signal(self, number):
        """Sends a signal, if the process is still there."""
        if self.process.is_alive():
            os.kill(self.process.pid, number)

    def kill(self):
        """Kills it."""
        self.process.kill()
        self.process.join()

    def finish(self, seconds=PROCESS_LIMIT_S):
        """What it did, once it has ended."""
        is_late = self._deadline(seconds)
        while self.process.is_alive() and not is_late():
            self.process.join(0.1)
        if self.process.is_alive():
            self.kill()
            raise ViolationError(f"a process did not end in {seconds:g} s")
        out, err = (file.read_text() if file.exists() else "" for file in self.files)
        return Result(self.process.exitcode, out, err)


def left_behind(seconds=10.0):
    """Processes of this trial that are still there after some time; they are killed."""
    until = time.monotonic() + seconds
    while (found := _marked()) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def _marked():
    """Processes that were started with this trial's mark."""
    mark, found = f"{TAG}={os.environ[TAG]}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_marked = mark in (folder / "environ").read_bytes().split(b"\0")
            if is_marked and int(folder.name) != os.getpid() and not _is_zombie(folder):
                found.append(int(folder.name))
    return found


def _active_s(pid):
    """Seconds that a process has computed, or waited for a core on a machine with other work."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            computed, waited, _ = task.read_text().split()
            total += int(computed) + int(waited)
    return total / 1e9


def _is_zombie(folder):
    return (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
