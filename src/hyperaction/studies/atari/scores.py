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
    """Runs of a pair of agents in a game, over the iterations that all of them have finished."""

    game: str
    baseline: str
    """The agent without a hypergraph."""
    agent: str
    """The one with a hypergraph."""
    iterations: int
    baseline_runs: int
    agent_runs: int
    ours: float
    """The relative score of the runs; not a number without an iteration."""
    published: float
    """The published one over the same iterations; not a number where none was."""


def human_normalised(score: Score, scale: Reference) -> Score:
    """A score from 0, a random agent's, to 1, a human player's."""
    return (score - scale.random) / (scale.human - scale.random)


def relative_score(score: float, baseline: float, scale: Reference) -> float:
    """The relative human-normalised score of HGQN, say, versus DQN: 0 where they are equal."""
    return (score - baseline) / (max(baseline, scale.human) - scale.random)


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


def versus(
    game: str, pair: tuple[str, str], runs: tuple[Sequence[Returns], Sequence[Returns]]
) -> Versus:
    """Runs of both agents of a pair in one of the games, each by its returns per iteration."""
    counts = (len(runs[0]), len(runs[1]))
    shared = min(len(curve(game, "dqn").mean), *(len(each) for of in runs for each in of))
    if not shared:
        return Versus(game, *pair, 0, *counts, np.nan, np.nan)
    baseline, score = (float(np.mean([each[:shared] for each in of])) for of in runs)
    ours = relative_score(score, baseline, reference(game))
    published = relative(game, shared).relative if pair == AGENTS else np.nan
    return Versus(game, *pair, shared, *counts, ours, published)


def over_runs(agent: str, runs: dict[str, list[Returns]]) -> tuple[Returns, Returns]:
    """Human-normalised scores `[games, iterations]` of runs, by game, and the published ones.

    They are over the iterations that all runs have finished.
    """
    curves = {game: curve(game, agent).mean for game in runs}
    shared = min(len(each) for game, of in runs.items() for each in (*of, curves[game]))
    ours = [
        human_normalised(np.mean([each[:shared] for each in of], axis=0), reference(game))
        for game, of in runs.items()
    ]
    published = [human_normalised(mean[:shared], reference(game)) for game, mean in curves.items()]
    return np.array(ours), np.array(published)
