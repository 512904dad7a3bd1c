"""The authors' learning curves in the physical control domains: mean and spread of nine seeds."""

from __future__ import annotations

from typing import Any

from hyperaction.studies.curves import Published, find_curve, read_table


def published(config: dict[str, Any]) -> Published | None:
    """What was published for the agent and the domain of a run with these settings, if anything.

    A run with other settings than the paper's is set beside the paper's agent of its name and rank.
    """
    domain = str(config["env"]).split(":")[-1].rsplit("-v", 1)[0]
    return find_curve(read_table(__package__, "published.csv"), domain, _published_name(config))


def _published_name(config: dict[str, Any]) -> str:
    name, settings = str(config["agent"]), config["settings"]
    if name != "hgqn":
        return name
    orders = sorted(settings["orders"])
    complete = orders == list(range(1, len(orders) + 1)) and not settings["edges"]
    mixer = "sum" if settings["mixer"] == "mean" else settings["mixer"]  # The same but for a scale.
    return f"hgqn-r{len(orders)}-{mixer}" if complete else "hgqn with other hyperedges"
