"""Runs of Atari games, and how they compare with each other and with what was published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.envs.ids import game_of
from hyperaction.errors import printable
from hyperaction.report.curves import PublishedCurve
from hyperaction.report.runs import RunData, find_runs
from hyperaction.studies.atari.published import (
    AGENTS,
    GAMES,
    PAIRS,
    paper_agent,
    published_curve,
)
from hyperaction.studies.atari.scores import OverGames, Versus, by_iteration, over_games, versus


class GameRun(NamedTuple):
    """The training returns of a run, one per phase."""

    name: str
    game: str
    agent: str
    steps: NDArray[np.int64]
    returns: NDArray[np.float64]
    is_paper_agent: bool
    """Whether agent, hyperedges and game are the paper's."""
    published: PublishedCurve | None
    """The published curve for its agent and game, if there is one."""


def expand(folders: Iterable[Path]) -> list[Path]:
    """The runs in directories, each of which is a run or contains runs, as a sweep does."""
    return [
        run
        for folder in folders
        for run in ([folder] if (folder / "config.json").exists() else find_runs([folder]))
        or [folder]
    ]


def game_run(run: RunData) -> GameRun:
    """A run of a game; raises `ValueError` if it is not one of an Atari game, or has no result."""
    game = game_of(run.config["env"])
    if not game:
        raise ValueError(
            f"{run.out} is a run of {run.config['env']}, which is not an Atari game such as "
            f"ALE/{GAMES[0]}-v5 (hyperaction compare draws other runs)"
        )
    if not run.evaluations:
        raise ValueError(f"{run.out} has no finished phase yet")
    steps, returns = run.points
    if len(steps) < len(run.evaluations):
        raise ValueError(f"{run.out}: a return is not finite")
    is_paper_agent = paper_agent(run.config) is not None
    published = published_curve(run.config)
    agent = run.config["agent"]
    return GameRun(printable(run.name), game, agent, steps, returns, is_paper_agent, published)


def compare_pairs(runs: Sequence[GameRun]) -> list[Versus]:
    """Each pair of the paper's agents, in the games that both play."""
    comparisons = []
    for pair in PAIRS:
        baseline, agent = (_returns(runs, name) for name in pair)
        comparisons += [
            versus(game, pair, (baseline[game], agent[game]))
            for game in GAMES
            if game in baseline and game in agent
        ]
    return comparisons


def score_over_games(runs: Sequence[GameRun]) -> list[OverGames]:
    """Each agent with published curves, over the games in which its runs finished an iteration."""
    scores = []
    for agent in AGENTS:
        games = {
            game: finished
            for game, returns in _returns(runs, agent).items()
            if (finished := [each for each in returns if len(each)])
        }
        if games:
            scores.append(over_games(agent, games))
    return scores


def _returns(runs: Sequence[GameRun], agent: str) -> dict[str, list[NDArray[np.float64]]]:
    """Returns per iteration of the runs of an agent of the paper, by game."""
    games: dict[str, list[NDArray[np.float64]]] = {}
    for run in runs:
        if run.is_paper_agent and run.agent == agent:
            games.setdefault(run.game, []).append(by_iteration(run.steps, run.returns))
    return games
