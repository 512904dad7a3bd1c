"""Timing things beside each other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax

from hyperaction.training import Programs


def fastest(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The fastest time of each work in seconds, all taking turns so that noise hits them alike."""
    for work in works.values():
        _finish(work())  # Compiled now, not when the clock runs.
    times = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            _finish(work())
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def _finish(result: Any) -> None:
    jax.block_until_ready(result)  # type: ignore[no-untyped-call]


class _Stopwatch:
    """Adds up the time of calls to a function."""

    def __init__(self, work: Callable[..., Any], *, wait: bool) -> None:
        self.work, self.wait, self.seconds = work, wait, 0.0

    def __call__(self, *args: Any) -> Any:
        start = time.perf_counter()
        found = self.work(*args)
        if self.wait:  # Programs answer before they are done.
            _finish(found)
        self.seconds += time.perf_counter() - start
        return found


def timed(
    work: Callable[[], Any], times: int, places: Sequence[tuple[Any, str]]
) -> tuple[float, dict[str, float]]:
    """Seconds that a work takes each time, and what of them some methods of objects take."""
    watches = {
        name: _Stopwatch(getattr(owner, name), wait=isinstance(owner, Programs))
        for owner, name in places
    }
    for owner, name in places:
        setattr(owner, name, watches[name])
    try:
        start = time.perf_counter()
        for _ in range(times):
            work()
        whole = time.perf_counter() - start
    finally:
        for owner, name in places:
            setattr(owner, name, watches[name].work)
    return whole / times, {name: watch.seconds / times for name, watch in watches.items()}


class Clock:
    """Counts the steps of a training, whoever's it is, from the end of its warm-up on."""

    def __init__(self, warm_up: int, steps: int) -> None:
        self.left, self.steps = warm_up + steps, steps

    def tick(self) -> bool:
        """Whether to go on."""
        self.left -= 1
        if self.left == self.steps:
            self.started = time.perf_counter()
        return self.left > 0

    @property
    def speed(self) -> float:
        """Steps per second."""
        return self.steps / (time.perf_counter() - self.started)


def child(module: str, *args: str) -> dict[str, float]:
    """What a process of its own measured; it is told when it was started."""
    command = [sys.executable, "-m", module, str(time.time()), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"measuring {' '.join(args)} failed: {' '.join(last)}")
    return json.loads(done.stdout.splitlines()[-1])
