"""The authors' learning curves in the physical control domains: mean and spread of nine seeds."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Published(NamedTuple):
    """The evaluation returns of an agent in a domain, every 10,000 steps."""

    agent: str
    steps: NDArray[np.int64]
    mean: NDArray[np.float64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]


def published(config: dict[str, Any]) -> Published | None:
    """What was published for the agent and the domain of a run with these settings, if anything.

    A run with other settings than the paper's is set beside the paper's agent of its name and rank.
    """
    domain = str(config["env"]).split(":")[-1].rsplit("-v", 1)[0]
    agent = _published_name(config)
    rows = {row[2]: row[3:] for row in _table()[1:] if row[:2] == [domain, agent]}
    if not rows:
        return None
    steps = np.array([int(step) for step in _table()[0][3:]])
    return Published(agent, steps, *(_numbers(rows[k]) for k in ("mean", "minimum", "maximum")))


def _published_name(config: dict[str, Any]) -> str:
    name, settings = str(config["agent"]), config["settings"]
    if name != "hgqn":
        return name
    orders = sorted(settings["orders"])
    complete = orders == list(range(1, len(orders) + 1)) and not settings["edges"]
    mixer = "sum" if settings["mixer"] == "mean" else settings["mixer"]  # The same but for a scale.
    return f"hgqn-r{len(orders)}-{mixer}" if complete else "hgqn with other hyperedges"


def _table() -> list[list[str]]:
    text = (files(__package__) / "published.csv").read_text()
    return list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))


def _numbers(row: list[str]) -> NDArray[np.float64]:
    return np.array([float(value) for value in row])
