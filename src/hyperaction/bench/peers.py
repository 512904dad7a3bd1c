"""Measures other libraries on the same work, each in its own process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hyperaction.bench.clock import child

OWN = "Hyperaction"

OnProgress = Callable[[str], None]
"""Receives what is measured now."""


def speeds(
    worker: str,
    peers: Mapping[str, str],
    steps: int,
    repeats: int,
    on_progress: OnProgress,
    *before: str,
) -> dict[str, float]:
    """Steps per second of this library and of the installed peers, measured in turns.

    A peer that fails, such as an old version, is left out with a line.

    Args:
        worker: The module that measures one library.
        peers: The module of each peer, by name.
        steps: How many steps to time; 0 skips the measurement.
        repeats: How often to measure; the fastest counts.
        on_progress: Receives what is measured now.
        *before: Arguments of the worker before the name and the steps.
    """
    installed = [name for name, module in peers.items() if find_spec(module) is not None]
    if not installed or not steps:
        return {}
    fastest: dict[str, float] = {}
    for repeat in range(repeats):
        for name in (OWN, *installed):
            on_progress(f"{name}, {repeat + 1} of {repeats}")
            try:
                speed = child(worker, *before, name, str(steps))["steps_per_second"]
            except RuntimeError as error:
                if name == OWN:
                    raise
                print(f"hyperaction: left out: {error}", file=sys.stderr)
                installed.remove(name)
                continue
            fastest[name] = max(speed, fastest.get(name, 0.0))
    return fastest


def dqn_class(module: str) -> Any:
    """The DQN of Stable-Baselines3 or SBX, with one thread."""
    if module == "stable_baselines3":
        import_module("torch").set_num_threads(1)
    return import_module(module).DQN
