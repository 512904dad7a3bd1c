"""Runs of Atari games, and how they compare with each other and with what was published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.envs.ids import game_of
from hyperaction.report.curves import PublishedCurve
from hyperaction.report.runs import find_runs
from hyperaction.runs import read_metrics
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


def read_run(out: Path, name: str, config: dict[str, Any]) -> GameRun:
    """Reads a run; raises `ValueError` if it is not one of an Atari game, or has no result."""
    game = game_of(config["env"])
    if not game:
        raise ValueError(
            f"{out} is a run of {config['env']}, which is not an Atari game such as "
            f"ALE/{GAMES[0]}-v5 (hyperaction compare draws other runs)"
        )
    # A phase in which no episode ended has no return.
    rows = [row for row in read_metrics(out, "train") if "return" in row]
    if not rows:
        raise ValueError(f"{out} has no finished phase yet")
    try:
        steps = np.array([int(row["step"]) for row in rows])
        returns = np.array([float(row["return"]) for row in rows])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{out}: a phase lacks its step or return") from None
    if not np.isfinite(returns).all() or (np.diff(steps, prepend=0) <= 0).any():
        raise ValueError(f"{out}: returns are not finite, or steps do not increase")
    is_paper_agent = paper_agent(config) is not None
    published = published_curve(config)
    return GameRun(name, game, config["agent"], steps, returns, is_paper_agent, published)


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
