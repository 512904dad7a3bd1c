"""Settings that change with the step: a schedule is a function of it, printable and storable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from hyperaction.errors import SettingError


@dataclass(frozen=True)
class Linear:
    """From one value to another over so many steps, then constant; written `linear:1:0.05:50000`.

    Works on numbers and, in compiled programs, on JAX arrays.
    """

    first: float
    last: float
    steps: int

    def __post_init__(self) -> None:
        is_finite = all(math.isfinite(each) for each in (self.first, self.last, self.steps))
        if not is_finite or self.steps < 1:
            raise SettingError(f"{self}: a schedule has finite values and at least 1 step")

    def __call__(self, step: Any) -> Any:
        left = (self.steps - step) / self.steps
        # Written for numbers and for arrays alike.
        share = left.clip(0.0, 1.0) if hasattr(left, "clip") else min(max(left, 0.0), 1.0)
        return self.last + (self.first - self.last) * share

    def __str__(self) -> str:
        return f"linear:{self.first:g}:{self.last:g}:{self.steps}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The schedule that a text describes."""
        try:
            kind, first, last, steps = text.split(":")
            if kind == "linear":
                return cls(float(first), float(last), int(float(steps)))
        except (ValueError, OverflowError):
            pass
        raise SettingError(f"'{text}' is not a schedule such as linear:0.001:0:300000")


def at(schedule: Any, step: Any) -> Any:
    """The value of a schedule, or of a constant, at a step."""
    return schedule(step) if callable(schedule) else schedule


def check_range(name: str, value: Any, *, at_least: float) -> None:
    """Refuses a constant or a linear schedule that is lower at any step."""
    ends = (value.first, value.last) if isinstance(value, Linear) else (value,)
    if min(ends) < at_least:
        raise SettingError(f"`{name}` must be at least {at_least:g}, not {value}")
