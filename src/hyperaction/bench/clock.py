"""Timing, in seconds of the processor: other work on the machine disturbs them less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax

from hyperaction.training.compiled import Compiled
from hyperaction.training.trainer import Trainer


def fastest(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The fastest time of each work in seconds, measured in turns so that noise affects all."""
    for work in works.values():
        _finish(work())  # Compiles it.
    times = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            start = time.process_time()
            _finish(work())
            times[name] = min(times[name], time.process_time() - start)
    return times


def _finish(result: Any) -> None:
    jax.block_until_ready(result)  # type: ignore[no-untyped-call]


class _Stopwatch:
    """Adds up the time of calls to a function."""

    def __init__(self, work: Callable[..., Any], *, wait: bool) -> None:
        self.work, self.wait, self.seconds = work, wait, 0.0

    def __call__(self, *args: Any) -> Any:
        start = time.process_time()
        result = self.work(*args)
        if self.wait:  # Calls return before the program has finished.
            _finish(result)
        self.seconds += time.process_time() - start
        return result


def timed(
    work: Callable[[], Any], times: int, methods: Sequence[tuple[Any, str]]
) -> tuple[float, dict[str, float]]:
    """Seconds per call of a work, in total and in some methods of objects."""
    watches = {
        name: _Stopwatch(getattr(owner, name), wait=isinstance(owner, Compiled))
        for owner, name in methods
    }
    for owner, name in methods:
        setattr(owner, name, watches[name])
    try:
        start = time.process_time()
        for _ in range(times):
            work()
        whole = time.process_time() - start
    finally:
        for owner, name in methods:
            setattr(owner, name, watches[name].work)
    return whole / times, {name: watch.seconds / times for name, watch in watches.items()}


Key = TypeVar("Key")


def fastest_splits(
    trainers: dict[Key, Trainer],
    split: Callable[[Trainer], dict[str, float]],
    repeats: int,
    on_progress: Callable[[str], None],
) -> dict[Key, dict[str, float]]:
    """The split of a step with the shortest loop, for each of the trainers, measured in turns."""
    splits: dict[Key, dict[str, float]] = {}
    for repeat in range(repeats):
        on_progress(f"steps, {repeat + 1} of {repeats}")
        for key, trainer in trainers.items():
            measured = split(trainer)
            if key not in splits or measured["loop"] < splits[key]["loop"]:
                splits[key] = measured
    return splits


def warm_up(trainer: Trainer, steps: int) -> Trainer:
    """Trains for some steps, so that all programs are compiled."""
    while trainer.step < steps:
        trainer.advance()
    return trainer


class Clock:
    """Counts the steps of a trainer, and times those after its warm-up."""

    def __init__(self, warm_up: int, steps: int) -> None:
        self.left, self.steps = warm_up + steps, steps

    def tick(self) -> bool:
        """Whether to continue."""
        self.left -= 1
        if self.left == self.steps:
            self.started = time.process_time()
        return self.left > 0

    @property
    def speed(self) -> float:
        """Steps per second."""
        return self.steps / (time.process_time() - self.started)


def child(module: str, *args: str, env: Mapping[str, str] = {}) -> dict[str, float]:
    """The results of a module run in its own process; its first argument is the start time."""
    command = [sys.executable, "-P", "-m", module, str(time.time()), *args]
    env = {**os.environ, **env}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        tail = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"measuring {' '.join(args)} failed: {' '.join(tail)}")
    return json.loads(done.stdout.splitlines()[-1])
