"""Environments that raise, hang, die, or return what they may not."""

import ctypes
import os
import re
import time

import numpy as np

from tests.chaos import envs
from tests.chaos.commands import Child, ViolationError
from tests.chaos.trial import TRAIN

CALLS = 300
"""Calls of the environment in a run, roughly."""


class UnspeakableError(Exception):
    """An exception that cannot be shown."""

    def __str__(self):
        raise ValueError("no words")


class SuddenError(BaseException):
    """Not an `Exception`."""


def _raises(error):
    def fault(call, answer):
        raise error

    return fault


def _returns(index, value):
    """The answer with another value: of the observation (0), the reward (1), the info (-1)..."""

    def fault(call, answer):
        if call == "reset" and index not in (0, -1):
            return tuple(answer)
        answer[index] = value
        return tuple(answer)

    return fault


def _whole(value):
    return lambda call, answer: value


def _mask(value):
    return _returns(-1, {"action_mask": value})


def _hangs(call, answer):
    time.sleep(1000)


def _hangs_in_c(call, answer):
    lock = ctypes.create_string_buffer(64)
    ctypes.PyDLL(None).pthread_mutex_lock(lock)
    ctypes.PyDLL(None).pthread_mutex_lock(lock)


def _dies(call, answer):
    os._exit(11)


def _crashes(call, answer):
    ctypes.string_at(0)


NAN, HUGE = np.full(3, np.nan, np.float32), np.full(3, 3e38, np.float32)

FAULTS = {
    "raises": _raises(ZeroDivisionError("gravity is zero\nand more")),
    "raises with escape codes": _raises(RuntimeError("[/red]\x1b[2J\x00" + "!" * 9_000)),
    "raises what cannot be shown": _raises(UnspeakableError()),
    "raises a BaseException": _raises(SuddenError("x")),
    "exits": _raises(SystemExit(0)),
    "interrupts": _raises(KeyboardInterrupt()),
    "stops an iteration": _raises(StopIteration()),
    "is out of memory": _raises(MemoryError("large")),
    "recurses": _raises(RecursionError("deep")),
    "nan": _returns(0, NAN),
    "huge observation": _returns(0, HUGE),
    "no observation": _returns(0, None),
    "text observation": _returns(0, "north"),
    "ragged observation": _returns(0, [[1.0], [2.0, 3.0]]),
    "complex observation": _returns(0, np.ones(3, complex)),
    "short observation": _returns(0, np.ones(2, np.float32)),
    "scalar observation": _returns(0, 0.5),
    "inf reward": _returns(1, np.inf),
    "nan reward": _returns(1, np.nan),
    "no reward": _returns(1, None),
    "array reward": _returns(1, np.ones(2)),
    "huge reward": _returns(1, 1e308),
    "integer of 400 digits": _returns(1, 10**400),
    "text terminated": _returns(2, "no"),
    "array terminated": _returns(2, np.zeros(3, bool)),
    "no info": _returns(-1, None),
    "four values": lambda call, answer: tuple(answer[:-1]),
    "nothing": _whole(None),
    "text": _whole("hello"),
    "mask 0-d": _mask(np.True_),
    "mask of text": _mask("11111"),
    "mask of a dict": _mask({"a": 1}),
    "short mask": _mask(np.ones(2, bool)),
    "long mask": _mask(np.ones(50, bool)),
    "mask of two axes": _mask(np.ones((1, 5), bool)),
    "nothing allowed": _mask(np.zeros(5, bool)),
    "mask of nan": _mask(np.full(5, np.nan)),
    "mask of objects": _mask([object()] * 5),
    "no mask": _returns(-1, {}),
    "hangs": _hangs,
}

SUDDEN = {"hangs in C": _hangs_in_c, "dies": _dies, "crashes": _crashes, "hangs": _hangs}
"""What the process does not survive, or only just."""


def environment(trial):
    """An environment's fault costs one line, and the run resumes once it is gone."""
    name, calls = trial.rng.choice(list(FAULTS)), trial.rng.randrange(1, CALLS)
    trial.note(f"{name} at call {calls}")
    envs.strike(FAULTS[name], calls)
    result = trial.train("--env-timeout", "1")
    envs.strike(None, 0)
    if result.code == 1 and "huge" not in name and not re.search("environment|mask", result.err):
        raise ViolationError(f"the environment's fault is not called so: {result.err.strip()}")
    _check(trial, result)


def sudden(trial):
    """An environment that takes the process with it costs one line, too."""
    name, calls = trial.rng.choice(list(SUDDEN)), trial.rng.randrange(1, CALLS)
    trial.note(f"{name} at call {calls}")
    args = (*TRAIN, "--env-timeout", "1", "--out", trial.run)
    child = Child(trial.root / "child", *args, fault=(name, calls))
    child.finish()
    trial.check_clean()  # The line is of a process that outlives the run for a moment.
    result = child.finish()
    lines = result.err.splitlines()
    if result.code == 0:
        raise ViolationError("exit 0 although the environment took the process with it")
    if len(lines) != 1 or not lines[0].startswith("hyperaction: "):
        raise ViolationError(f"{len(lines)} lines: {result.err[-300:]!r}")
    _check(trial, result)


def _check(trial, result):
    trial.check_clean()
    if result.code == 0:  # A value that is odd, but may be.
        trial.note("taken")
        return
    trial.check_resumes_same()
