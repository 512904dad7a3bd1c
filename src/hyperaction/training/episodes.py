"""Episodes, and what is logged of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Episode(NamedTuple):
    """An episode that came to its end."""

    total: float
    """Its undiscounted return."""
    length: int


def summary(step: int, episodes: Sequence[Episode]) -> dict[str, float]:
    """The metrics of episodes that ended by a step."""
    metrics: dict[str, float] = {"step": step, "episodes": len(episodes)}
    if episodes:
        totals = [episode.total for episode in episodes]
        metrics["return"] = float(np.mean(totals))
        metrics["lowest"], metrics["highest"] = min(totals), max(totals)
        metrics["length"] = float(np.mean([episode.length for episode in episodes]))
    return metrics
