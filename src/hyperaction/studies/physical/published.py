"""Published learning curves in the physical control domains.

The authors', mean and range of nine seeds; and one of TQC's, the best agent for continuous control
that RL Baselines3 Zoo has published there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hyperaction.report.curves import PublishedCurve
from hyperaction.studies.data import find_curve, find_curves, numbers, read_table


def published_curve(config: dict[str, Any]) -> PublishedCurve | None:
    """The published curve for the agent and domain of a run, if there is one.

    A run with settings other than the paper's is compared with the paper's agent of the same name
    and rank.
    """
    return find_curve(_table(), _domain(config), _published_name(config))


def published_curves(config: dict[str, Any]) -> list[PublishedCurve]:
    """The published curves of all agents in the domain of a run."""
    peer = peer_curve(config)
    return find_curves(_table(), _domain(config)) + ([] if peer is None else [peer])


def peer_curve(config: dict[str, Any]) -> PublishedCurve | None:
    """The curve of TQC in the domain of a run, if there is one: a single run, without a range."""
    _, *rows = read_table(__package__, "tqc.csv")
    found = [row for row in rows if row[0] == _domain(config)]
    if not found:
        return None
    _, (agent, *_), steps, returns = zip(*found, strict=True)
    values = numbers(list(returns))
    return PublishedCurve(agent, np.array([int(step) for step in steps]), values, values, values)


def _table() -> list[list[str]]:
    return read_table(__package__, "published.csv")


def _domain(config: dict[str, Any]) -> str:
    return str(config["env"]).split(":")[-1].rsplit("-v", 1)[0]


def _published_name(config: dict[str, Any]) -> str:
    name, settings = str(config["agent"]), config["settings"]
    if name != "hgqn":
        return name
    orders = sorted(settings["orders"])
    complete = orders == list(range(1, len(orders) + 1)) and not settings["edges"]
    mixer = "sum" if settings["mixer"] == "mean" else settings["mixer"]  # Equal up to a scale.
    return f"hgqn-r{len(orders)}-{mixer}" if complete else "hgqn with other hyperedges"
