"""The learning curves that were published for 29 Atari games with 18 valid actions."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ITERATION = 250_000
"""Steps of the agent in an iteration."""

HYPEREDGES = {"dqn": {3}, "hgqn": {1, 2, 3}}
"""The orders that the agents of the paper have on the joystick's three vertices."""

AGENTS = tuple(HYPEREDGES)
"""The agents whose curves were published."""


class Published(NamedTuple):
    """The mean training returns of an agent in a game, every iteration, with their spread."""

    agent: str
    steps: NDArray[np.int64]
    mean: NDArray[np.float64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]


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
    """What was published for the agent and the game of a run with these settings, if anything.

    A run with other settings than the paper's is set beside the paper's agent of its name and
    hyperedges.
    """
    name, settings = str(config["agent"]), config["settings"]
    game = game_of(str(config["env"]))
    if game not in GAMES or name not in HYPEREDGES:
        return None
    # The highest order, -1, is that of all three vertices.
    orders = {3 if order == -1 else order for order in settings["orders"]}
    same = orders == HYPEREDGES[name] and not settings["edges"] and settings["mixer"] == "sum"
    return curve(game, name) if same else None


def game_of(env: str) -> str:
    """The game of an environment such as ALE/BankHeist-v5; nothing for what is not Atari."""
    space, _, name = env.split(":")[-1].partition("/")
    return name.rsplit("-v", 1)[0] if space == "ALE" else ""


def curve(game: str, agent: str) -> Published:
    """The published learning curve of an agent in one of the games."""
    header, *rows = _table("curves.csv")
    found = {row[2]: row[3:] for row in rows if row[:2] == [game, agent]}
    steps = np.array([int(step) for step in header[3:]])
    return Published(agent, steps, *(_numbers(found[k]) for k in ("mean", "minimum", "maximum")))


def over_games() -> list[OverGames]:
    """The score over all games of every published seed."""
    found: dict[tuple[str, int], dict[str, NDArray[np.float64]]] = {}
    for agent, seed, statistic, *row in _table("over_games.csv")[1:]:
        found.setdefault((agent, int(seed)), {})[statistic] = _numbers(row)
    return [OverGames(agent, seed, **statistics) for (agent, seed), statistics in found.items()]


def reference(game: str) -> Reference:
    """The scores that human-normalised ones are made with."""
    rows = {name: numbers for name, *numbers in _table("references.csv")}
    return Reference(*(float(number) for number in rows[game]))


@cache
def _table(name: str) -> list[list[str]]:
    text = (files(__package__) / name).read_text()
    return list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))


def _numbers(row: list[str]) -> NDArray[np.float64]:
    return np.array([float(value) for value in row])


GAMES = tuple(row[0] for row in _table("references.csv")[1:])
"""All games that the paper has."""
