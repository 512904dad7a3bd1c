"""Timing things beside each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax


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
