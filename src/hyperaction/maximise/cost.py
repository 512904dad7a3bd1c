"""What maximising takes in time, and how much of it exact ways may take.

A fixed model, so that equal settings have equal plans on every machine and instruction set. Its
numbers are of one core with AVX2 (docs/studies/speed-maximisation.md has them beside what was
measured); others are faster or slower in everything, which leaves the comparisons between ways as
they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

STATE_SECONDS = 1e-6
"""What a state takes in any way: its outputs are read, and its action is written."""


@dataclass(frozen=True)
class Rate:
    """How long a way's adds take.

    Args:
        nanoseconds: Of one add, for one state.
        lanes: States that are solved side by side: fewer take as long.
    """

    nanoseconds: float
    lanes: int = 1

    def seconds(self, adds: float, states: int) -> float:
        """The time of a batch of so many states."""
        solved = self.lanes * math.ceil(states / self.lanes)
        return 1e-9 * self.nanoseconds * solved * adds + STATE_SECONDS * states


@runtime_checkable
class Timed(Protocol):
    """A way, by what it takes."""

    def seconds(self, states: int) -> float:
        """The time of a batch of so many states."""
        ...


@dataclass(frozen=True)
class Budget:
    """The time that exact ways may take.

    Args:
        limit: Seconds.
        calls: What is done in that time: batches, each with how often it is solved.
    """

    limit: float
    calls: tuple[tuple[int, float], ...]

    def seconds(self, way: Timed) -> float:
        """What a way takes for all calls."""
        return sum(times * way.seconds(states) for states, times in self.calls)

    def allows(self, way: Timed) -> bool:
        """Whether a way takes no more."""
        return self.seconds(way) <= self.limit

    def seconds_of(self, rate: Rate, adds: float) -> float:
        """What so many adds per state take for all calls."""
        return sum(times * rate.seconds(adds, states) for states, times in self.calls)

    def adds(self, rate: Rate) -> float:
        """How many adds per state a way of this rate may take."""
        return self.limit / (self.seconds_of(rate, 1.0) - self.seconds_of(rate, 0.0))

    def __str__(self) -> str:
        if self.calls == PER_STATE:
            return f"{in_words(self.limit)} per state"
        return f"{in_words(self.limit)} per training step"


PER_STATE = ((64, 1 / 64),)
"""The calls of someone who has no batch of their own: one state, of many."""

SECONDS = 0.002
"""What an exact way may take per state by default."""

ASCENT_WORTH = 2.0
"""Exact ways may always take this many times the time of ascent, which nearly always finds the best
action too."""
SAMPLING_WORTH = 10.0
"""The same of sampling, which does not."""

ADDS_PER_OUTPUT = 4.0
"""Exact ways may always take this many adds for each output, which takes more to compute: so one
table of all vertices is gone through as a whole."""

FIXED_SECONDS = 3e-4
"""What an update takes however small the network, and acting in one state takes."""
SECONDS_PER_WEIGHT = 1.2e-9
"""What an update takes for each weight: gradients, moments and the weight itself are rewritten."""
SECONDS_PER_PRODUCT = 1.4e-10
"""What an update takes for each weight and transition: two values, and a gradient."""


def in_words(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def training_step(weights: int, batch_size: int, train_frequency: int) -> float:
    """The seconds of an update and its steps' actions, without looking for best actions."""
    update = weights * (SECONDS_PER_WEIGHT + SECONDS_PER_PRODUCT * batch_size)
    return update + (1 + train_frequency) * FIXED_SECONDS


def training_budget(share: float, weights: int, batch_size: int, train_frequency: int) -> Budget:
    """What exact ways may take in training, as a share of all else that a step takes.

    Best actions are looked for in the next states of a batch, and at every step before its update
    in one state: with several environments it is no more.
    """
    limit = share * training_step(weights, batch_size, train_frequency)
    return Budget(limit, ((batch_size, 1.0), (1, float(train_frequency))))
