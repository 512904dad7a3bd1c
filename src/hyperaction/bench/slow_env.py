"""An environment that is slow, as many simulators are."""

from __future__ import annotations

import time
from typing import Any

import gymnasium

STEP_MS = 5


class Slow(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Pendulum, whose step computes for some milliseconds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(gymnasium.make("Pendulum-v1", **options))

    def step(self, action: Any) -> Any:
        """A step, late."""
        until = time.perf_counter() + STEP_MS / 1e3
        while time.perf_counter() < until:
            pass
        return super().step(action)


gymnasium.register("Slow-v0", Slow)
