"""Atari: what the paper's authors published on 29 games, to measure runs against."""

from hyperaction.studies.atari.published import (
    AGENTS,
    GAMES,
    ITERATION,
    PAIRS,
    OverGames,
    Reference,
    agent_of_the_paper,
    curve,
    game_of,
    over_games,
    published,
    reference,
)
from hyperaction.studies.atari.scores import (
    Relative,
    Versus,
    human_normalised,
    over_runs,
    per_iteration,
    relative,
    relative_score,
    versus,
)

__all__ = [
    "AGENTS",
    "GAMES",
    "ITERATION",
    "PAIRS",
    "OverGames",
    "Reference",
    "agent_of_the_paper",
    "curve",
    "game_of",
    "over_games",
    "published",
    "reference",
    "Relative",
    "Versus",
    "human_normalised",
    "over_runs",
    "per_iteration",
    "relative",
    "relative_score",
    "versus",
]
