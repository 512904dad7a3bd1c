"""The learning curves that were published for 29 Atari games with 18 valid actions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.studies.curves import Published, find_curve, numbers, read_table

ITERATION = 250_000
"""Steps of the agent in an iteration."""

HYPEREDGES = {"dqn": {3}, "hgqn": {1, 2, 3}, "rainbow": {3}, "hg-rainbow": {1, 2, 3}}
"""The orders that the agents of the paper have on the joystick's three vertices."""

PAIRS = (("dqn", "hgqn"), ("rainbow", "hg-rainbow"))
"""Agents that the paper compares: without a hypergraph, and with one."""

AGENTS = PAIRS[0]
"""The agents whose curves were published."""


class OverGames(NamedTuple):
    """The human-normalised score of a seed of an agent over the games, every iteration."""

    agent: str
    seed: int
    median: NDArray[np.float64]
    mean: NDArray[np.float64]
    iqm: NDArray[np.float64]


class Reference(NamedTuple):
    """What a random agent and a human player score in a game."""

    random: float
    human: float


def published(config: dict[str, Any]) -> Published | None:
    """What was published for the agent and the game of a run with these settings, if anything."""
    agent = agent_of_the_paper(config)
    return curve(game_of(str(config["env"])), agent) if agent in AGENTS else None


def agent_of_the_paper(config: dict[str, Any]) -> str | None:
    """The agent of the paper that a run in one of its games has, by its name and hyperedges.

    Other settings may differ from the paper's.
    """
    name, settings = str(config["agent"]), config["settings"]
    if game_of(str(config["env"])) not in GAMES or name not in HYPEREDGES:
        return None
    # The highest order, -1, is that of all three vertices.
    orders = {3 if order == -1 else order for order in settings["orders"]}
    same = orders == HYPEREDGES[name] and not settings["edges"] and settings["mixer"] == "sum"
    return name if same else None


def game_of(env: str) -> str:
    """The game of an environment such as ALE/BankHeist-v5; nothing for what is not Atari."""
    space, _, name = env.split(":")[-1].partition("/")
    return name.rsplit("-v", 1)[0] if space == "ALE" else ""


def curve(game: str, agent: str) -> Published:
    """The published learning curve of an agent in one of the games."""
    found = find_curve(_table("curves.csv"), game, agent)
    assert found is not None, f"there is no curve of {agent} in {game}"
    return found


def over_games() -> list[OverGames]:
    """The score over all games of every published seed."""
    found: dict[tuple[str, int], dict[str, NDArray[np.float64]]] = {}
    for agent, seed, statistic, *row in _table("over_games.csv")[1:]:
        found.setdefault((agent, int(seed)), {})[statistic] = numbers(row)
    return [OverGames(agent, seed, **statistics) for (agent, seed), statistics in found.items()]


def reference(game: str) -> Reference:
    """The scores that human-normalised ones are made with."""
    rows = {name: scores for name, *scores in _table("references.csv")}
    return Reference(*(float(score) for score in rows[game]))


def _table(name: str) -> list[list[str]]:
    return read_table(__package__, name)


GAMES = tuple(row[0] for row in _table("references.csv")[1:])
"""All games that the paper has."""
