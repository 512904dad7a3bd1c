"""The learning curves that were published for 29 Atari games with 18 valid actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.envs.ids import game_of
from hyperaction.report.curves import PublishedCurve
from hyperaction.studies.data import find_curve, numbers, read_table

ITERATION = 250_000
"""Steps of the agent per iteration."""

HYPEREDGES = {"dqn": {3}, "hgqn": {1, 2, 3}, "rainbow": {3}, "hg-rainbow": {1, 2, 3}}
"""The orders of the paper's agents on the three vertices of the joystick."""

PAIRS = (("dqn", "hgqn"), ("rainbow", "hg-rainbow"))
"""Agents that the paper compares: without a hypergraph and with one."""

AGENTS = PAIRS[0]
"""The agents whose curves were published."""

NAMES = {"dqn": "DQN", "hgqn": "HGQN", "rainbow": "Rainbow", "hg-rainbow": "HG-Rainbow"}
"""The paper's names of the agents."""


class SeedScores(NamedTuple):
    """Human-normalised scores over all games of one seed of an agent, one per iteration."""

    agent: str
    seed: int
    median: NDArray[np.float64]
    mean: NDArray[np.float64]
    iqm: NDArray[np.float64]


class Reference(NamedTuple):
    """The scores of a random agent and a human player in a game."""

    random: float
    human: float


def published_curve(config: dict[str, Any]) -> PublishedCurve | None:
    """The published curve for the agent and game of a run, if there is one."""
    agent = paper_agent(config)
    return curve(game_of(str(config["env"])), agent) if agent in AGENTS else None


def published_curves(config: dict[str, Any]) -> list[PublishedCurve]:
    """The published curves of all agents in the game of a run."""
    game = game_of(str(config["env"]))
    return [curve(game, agent) for agent in AGENTS] if game in GAMES else []


def published_scores(config: dict[str, Any]) -> dict[str, float]:
    """The published scores of random actions and of a human player in the game of a run."""
    game = game_of(str(config["env"]))
    if game not in GAMES:
        return {}
    return {f"published {name}": score for name, score in reference(game)._asdict().items()}


def paper_agent(config: dict[str, Any]) -> str | None:
    """The agent of the paper that a run has, by name and hyperedges, in one of the paper's games.

    Other settings may differ from the paper's.
    """
    name, settings = str(config["agent"]), config["settings"]
    if game_of(str(config["env"])) not in GAMES or name not in HYPEREDGES:
        return None
    # The order -1 is the highest: all three vertices.
    orders = {3 if order == -1 else order for order in settings["orders"]}
    same = orders == HYPEREDGES[name] and not settings["edges"] and settings["mixer"] == "sum"
    return name if same else None


def curve(game: str, agent: str) -> PublishedCurve:
    """The published learning curve of an agent in a game."""
    found = find_curve(_table("curves.csv"), game, agent)
    assert found is not None, f"there is no curve of {agent} in {game}"
    return found


def seed_scores() -> list[SeedScores]:
    """The scores over all games of every published seed."""
    seeds: dict[tuple[str, int], dict[str, NDArray[np.float64]]] = {}
    for agent, seed, statistic, *row in _table("over_games.csv")[1:]:
        seeds.setdefault((agent, int(seed)), {})[statistic] = numbers(row)
    return [SeedScores(agent, seed, **statistics) for (agent, seed), statistics in seeds.items()]


def reference(game: str) -> Reference:
    """The scores by which a game is normalised."""
    rows = {name: scores for name, *scores in _table("references.csv")}
    return Reference(*(float(score) for score in rows[game]))


def _table(name: str) -> list[list[str]]:
    return read_table(__package__, name)


GAMES = tuple(row[0] for row in _table("references.csv")[1:])
"""All games of the paper."""
