"""How fast a run will be, measured on its first updates."""

from __future__ import annotations

import time
from collections.abc import Callable

from hyperaction.training.callbacks import Callback
from hyperaction.training.trainer import Trainer

FIRST_STEPS = 20
"""Calls with updates that are not timed: programs are compiled in them."""
MIN_STEPS = 100
MIN_SECONDS = 3.0


class SpeedEstimate(Callback):
    """Says once how many steps per second to expect, from the first steps that learn."""

    def __init__(self, steps: int, on_message: Callable[[str], None]) -> None:
        self.steps, self.on_message = steps, on_message
        self.is_done = False
        self._begin()

    def _begin(self) -> None:
        self._calls, self._first, self._started = 0, 0, 0.0

    def on_next_phase(self, trainer: Trainer) -> bool | None:
        """Begins anew: an evaluation was in between."""
        self._begin()
        return None

    def on_step(self, trainer: Trainer) -> bool | None:
        """Counts a step, and reports after enough of them."""
        if self.is_done or trainer.loss is None:
            return None
        self._calls += 1
        if self._calls == FIRST_STEPS:
            self._first, self._started = trainer.step, time.perf_counter()
        seconds = time.perf_counter() - self._started
        if self._calls < FIRST_STEPS + MIN_STEPS or seconds < MIN_SECONDS:
            return None
        speed, left = (trainer.step - self._first) / seconds, self.steps - trainer.step
        self.is_done = True
        if left > 0:
            self.on_message(
                f"about {speed:,.0f} steps per second: the {left:,} that are left take about "
                f"{in_words(left / speed)}, evaluations apart"
            )
        return None


def in_words(seconds: float) -> str:
    """A time as a person says it."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
