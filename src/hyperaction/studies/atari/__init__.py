"""Atari: the paper's study of 29 games, with published results, scores, tables and figures."""

from hyperaction.studies.atari.published import (
    GAMES,
    published_curve,
    published_curves,
    published_scores,
)

__all__ = ["GAMES", "published_curve", "published_curves", "published_scores"]
