"""The authors' learning curves in the physical control domains: mean and range of nine seeds."""

from __future__ import annotations

from typing import Any

from hyperaction.report.curves import PublishedCurve
from hyperaction.studies.data import find_curve, find_curves, read_table


def published_curve(config: dict[str, Any]) -> PublishedCurve | None:
    """The published curve for the agent and domain of a run, if there is one.

    A run with settings other than the paper's is compared with the paper's agent of the same name
    and rank.
    """
    return find_curve(_table(), _domain(config), _published_name(config))


def published_curves(config: dict[str, Any]) -> list[PublishedCurve]:
    """The published curves of all agents in the domain of a run."""
    return find_curves(_table(), _domain(config))


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
