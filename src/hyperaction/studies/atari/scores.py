"""Scores as the paper defines them (appendix B): relative to a human player and a random agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperaction.report.statistics import interquartile_mean
from hyperaction.studies.atari.published import (
    AGENTS,
    ITERATION,
    Reference,
    SeedScores,
    curve,
    reference,
)

Returns = NDArray[np.float64]

Score = TypeVar("Score", float, Returns)

STATISTICS = {"median": "median", "mean": "mean", "iqm": "interquartile mean"}
"""The statistics over games, with their names."""


class RelativeScore(NamedTuple):
    """HGQN versus DQN in a game: the relative score, mean returns, and these human-normalised."""

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
    """The agent with a hypergraph."""
    iterations: int
    baseline_runs: int
    agent_runs: int
    ours: float
    """The relative score of the runs; NaN without an iteration."""
    published: float
    """The published score over the same iterations; NaN if there is none."""


class OverGames(NamedTuple):
    """Human-normalised scores of an agent's runs, over the iterations that all have finished."""

    agent: str
    runs: int
    ours: Returns
    """The mean over runs, `[games, iterations]`."""
    published: Returns
    """The mean over published seeds in the same games and iterations."""


def human_normalised(score: Score, scale: Reference) -> Score:
    """A score scaled so that a random agent has 0 and a human player 1."""
    return (score - scale.random) / (scale.human - scale.random)


def relative_score(score: float, baseline: float, scale: Reference) -> float:
    """The relative human-normalised score versus a baseline; 0 if they are equal."""
    return (score - baseline) / (max(baseline, scale.human) - scale.random)


def published_score(game: str, iterations: int | None = None) -> RelativeScore:
    """The published scores in a game, over the first iterations or all."""
    dqn, hgqn = (float(curve(game, name).mean[:iterations].mean()) for name in AGENTS)
    scale = reference(game)
    normalised = (human_normalised(score, scale) for score in (dqn, hgqn))
    return RelativeScore(game, relative_score(hgqn, dqn, scale), dqn, hgqn, *normalised)


def by_iteration(steps: NDArray[np.int64], returns: Returns) -> Returns:
    """The return in each finished iteration: the mean over phases, weighted by their steps."""
    ends = np.concatenate([[0], steps])
    # The cumulative sum over steps: differences of it are sums over intervals.
    total = np.concatenate([[0.0], np.cumsum(returns * np.diff(ends))])
    iterations = np.arange(steps[-1] // ITERATION + 1) * ITERATION
    return np.diff(np.interp(iterations, ends, total)) / ITERATION


def versus(
    game: str, pair: tuple[str, str], runs: tuple[Sequence[Returns], Sequence[Returns]]
) -> Versus:
    """Compares runs of both agents of a pair in a game, given their returns per iteration."""
    counts = (len(runs[0]), len(runs[1]))
    shared = min(len(curve(game, "dqn").mean), *(len(run) for side in runs for run in side))
    if not shared:
        return Versus(game, *pair, 0, *counts, np.nan, np.nan)
    baseline, score = (float(np.mean([run[:shared] for run in side])) for side in runs)
    ours = relative_score(score, baseline, reference(game))
    published = published_score(game, shared).relative if pair == AGENTS else np.nan
    return Versus(game, *pair, shared, *counts, ours, published)


def over_games(agent: str, games: dict[str, list[Returns]]) -> OverGames:
    """Scores of the runs of an agent, given their returns per iteration by game."""
    curves = {game: curve(game, agent).mean for game in games}
    shared = min(len(each) for game, runs in games.items() for each in (*runs, curves[game]))
    ours = [
        human_normalised(np.mean([run[:shared] for run in runs], axis=0), reference(game))
        for game, runs in games.items()
    ]
    published = [human_normalised(mean[:shared], reference(game)) for game, mean in curves.items()]
    count = sum(len(runs) for runs in games.values())
    return OverGames(agent, count, np.array(ours), np.array(published))


def statistics_over_games(scores: Returns) -> dict[str, Returns]:
    """Each statistic over games, of scores `[games, iterations]`."""
    return {
        "median": np.median(scores, axis=0),
        "mean": scores.mean(axis=0),
        "iqm": interquartile_mean(scores.T),
    }


def mean_over_seeds(seeds: Sequence[SeedScores], agent: str, statistic: str) -> Returns:
    """A statistic over games, averaged over the seeds of an agent, per iteration."""
    return np.mean([getattr(seed, statistic) for seed in seeds if seed.agent == agent], axis=0)
