"""Scores as the paper counts them (appendix B): relative to a human player and a random agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperaction.studies.atari.published import AGENTS, ITERATION, Reference, curve, reference

Returns = NDArray[np.float64]

Score = TypeVar("Score", float, Returns)


class Relative(NamedTuple):
    """HGQN and DQN in a game: their scores, averaged over learning curves, and the relative one."""

    game: str
    relative: float
    dqn: float
    hgqn: float
    dqn_normalised: float
    hgqn_normalised: float


class Versus(NamedTuple):
    """Runs of both agents in a game, over the iterations that all of them have finished."""

    game: str
    iterations: int
    dqn_runs: int
    hgqn_runs: int
    ours: float
    """The relative score of the runs; not a number without an iteration."""
    published: float
    """The published one over the same iterations."""


def human_normalised(score: Score, scale: Reference) -> Score:
    """A score from 0, a random agent's, to 1, a human player's."""
    return (score - scale.random) / (scale.human - scale.random)


def relative_score(hgqn: float, dqn: float, scale: Reference) -> float:
    """The relative human-normalised score of HGQN versus DQN: 0 where they are equal."""
    return (hgqn - dqn) / (max(dqn, scale.human) - scale.random)


def relative(game: str, iterations: int | None = None) -> Relative:
    """What was published for a game, over the first so many iterations or all."""
    dqn, hgqn = (float(curve(game, name).mean[:iterations].mean()) for name in AGENTS)
    scale = reference(game)
    normalised = (human_normalised(score, scale) for score in (dqn, hgqn))
    return Relative(game, relative_score(hgqn, dqn, scale), dqn, hgqn, *normalised)


def per_iteration(steps: NDArray[np.int64], returns: Returns) -> Returns:
    """A run's return in every iteration that it has finished: its phases there, by their steps."""
    ends = np.concatenate([[0], steps])
    # Summed up over steps: the difference between two steps is what lies between them.
    total = np.concatenate([[0.0], np.cumsum(returns * np.diff(ends))])
    iterations = np.arange(steps[-1] // ITERATION + 1) * ITERATION
    return np.diff(np.interp(iterations, ends, total)) / ITERATION


def versus(game: str, dqn: Sequence[Returns], hgqn: Sequence[Returns]) -> Versus:
    """Runs of both agents in one of the games, each by its returns per iteration."""
    most = len(curve(game, "dqn").mean)
    shared = min(most, *(len(returns) for returns in (*dqn, *hgqn)))
    if not shared:
        return Versus(game, 0, len(dqn), len(hgqn), np.nan, np.nan)
    dqn_score, hgqn_score = (float(np.mean([run[:shared] for run in runs])) for runs in (dqn, hgqn))
    ours = relative_score(hgqn_score, dqn_score, reference(game))
    return Versus(game, shared, len(dqn), len(hgqn), ours, relative(game, shared).relative)
