"""Other libraries on the same work, each measured in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from hyperaction.bench.clock import child

OWN = "Hyperaction"

Told = Callable[[str], None]


def speeds(
    worker: str,
    peers: Mapping[str, str],
    steps: int,
    repeats: int,
    told: Told,
    *before: str,
) -> dict[str, float]:
    """Steps per second of this library and of the peers that are installed, all taking turns.

    Args:
        worker: The module that measures one of them.
        peers: The module of each peer.
        steps: How many steps are timed; none are if it is zero.
        repeats: How often; the fastest counts.
        told: Is told what is measured now.
        *before: What the worker is told before the name and the steps.
    """
    there = [name for name, module in peers.items() if find_spec(module) is not None]
    if not there or not steps:
        return {}
    found: dict[str, float] = {}
    for repeat in range(repeats):
        for name in [OWN, *there]:
            told(f"{name}, {repeat + 1} of {repeats}")
            speed = child(worker, *before, name, str(steps))["steps_per_second"]
            found[name] = max(speed, found.get(name, 0.0))
    return found
