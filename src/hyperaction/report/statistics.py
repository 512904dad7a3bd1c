"""Mean, median and interquartile mean over runs, with bootstrap intervals.

The definitions are those of Agarwal et al., "Deep reinforcement learning at the edge of the
statistical precipice" (2021): over several environments, mean and median are taken over
the means of the environments, the interquartile mean over all runs, and the bootstrap resamples
runs within each environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

Points = tuple[NDArray[np.int64], Scores]
"""The steps of a run's evaluations, which increase, and their finite returns."""

RESAMPLES = 5_000
LEVEL = 0.95

MIN_SEEDS = 3
"""The fewest seeds with an interval: of fewer, the bootstrap says nothing."""


class Estimate(NamedTuple):
    """A statistic and its bootstrap interval."""

    value: float
    low: float
    high: float


class Summary(NamedTuple):
    """The statistics of a set of runs."""

    mean: Estimate
    median: Estimate
    iqm: Estimate


class MeanCurve(NamedTuple):
    """Returns over seeds at common steps."""

    steps: NDArray[np.int64]
    mean: Scores
    low: Scores
    high: Scores
    seeds: NDArray[np.int64]
    """How many seeds each mean is over."""


def phase_steps(steps: NDArray[np.int64]) -> float:
    """The median distance between evaluations."""
    return float(np.median(np.diff(steps, prepend=0)))


def at_steps(points: Points, steps: NDArray[np.int64]) -> Scores:
    """A run's returns at any steps: on the straight line between its evaluations.

    Its first return holds for up to a phase before, its last for up to a phase after; further away
    there is none, which is NaN.
    """
    own, returns = points
    there = (steps >= own[0] - phase_steps(own)) & (steps <= own[-1] + phase_steps(own))
    values: Scores = np.where(there, np.interp(steps, own, returns), np.nan)
    return values


def common_steps(runs: Sequence[Points]) -> NDArray[np.int64]:
    """The steps of the run with the most evaluations, of several the one that is furthest."""
    return max((own for own, _ in runs), key=lambda own: (len(own), own[-1]))


def mean_curve(runs: Sequence[Points], steps: NDArray[np.int64] | None = None) -> MeanCurve:
    """The mean over seeds, each of which counts with its return `at_steps`.

    Phases are whole episodes, so that seeds drift apart and few of their evaluations are at the
    same steps.

    Args:
        runs: The evaluations of each seed.
        steps: Where to take the mean; the common steps by default.
    """
    steps = common_steps(runs) if steps is None else steps
    values = np.ma.masked_invalid([at_steps(points, steps) for points in runs])
    mean, low, high = (
        np.ma.filled(each, np.nan) for each in (values.mean(0), values.min(0), values.max(0))
    )
    return MeanCurve(steps, mean, low, high, values.count(0))


def interquartile_mean(scores: Scores) -> Scores:
    """The mean along the last axis without the lowest and the highest quarter."""
    ordered = np.sort(scores, axis=-1)
    cut = ordered.shape[-1] // 4
    middle: Scores = ordered[..., cut : ordered.shape[-1] - cut]
    return middle.mean(axis=-1)


def summarise(scores: Sequence[Scores], seed: int = 0) -> Summary:
    """The statistics of runs, given an array of scores per environment.

    The median is over runs if there is one environment, and over the means of several.
    """
    random = np.random.default_rng(seed)
    # The first row is the runs themselves, the others are resampled.
    drawn = [
        np.vstack([runs, runs[random.integers(len(runs), size=(RESAMPLES, len(runs)))]])
        for runs in scores
    ]
    means = np.stack([runs.mean(axis=-1) for runs in drawn], axis=-1)
    middle = drawn[0] if len(drawn) == 1 else means
    return Summary(
        _estimate(means.mean(axis=-1)),
        _estimate(np.median(middle, axis=-1)),
        _estimate(interquartile_mean(np.concatenate(drawn, axis=-1))),
    )


def _estimate(values: Scores) -> Estimate:
    outside = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(values[1:], [outside, 100 - outside])
    return Estimate(float(values[0]), float(low), float(high))


def normalise(scores: dict[str, dict[str, Scores]]) -> dict[str, dict[str, Scores]]:
    """Scales scores by environment and agent: 0 is the lowest of an environment, 1 the highest."""
    return {env: _scaled(agents) for env, agents in scores.items()}


def _scaled(agents: dict[str, Scores]) -> dict[str, Scores]:
    low = min(float(runs.min()) for runs in agents.values())
    high = max(float(runs.max()) for runs in agents.values())
    width = (high - low) or 1.0
    return {agent: (runs - low) / width for agent, runs in agents.items()}
