"""Runs to report on: where they are, what they and their agents are called, what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperaction.report.statistics import Points

NOT_OF_AGENT = ("env", "seed", "steps", "phase_steps", "evaluation_steps")
"""Settings in which runs of the same agent may differ."""


class RunData(NamedTuple):
    """What was read from the directory of a run."""

    name: str
    out: Path
    config: dict[str, Any]
    evaluations: list[dict[str, Any]]
    """Rows with a step and a return, by increasing step."""
    phases: list[dict[str, Any]]

    @property
    def points(self) -> Points:
        """Steps and returns of its evaluations, without returns that are not finite."""
        rows = [row for row in self.evaluations if np.isfinite(row["return"])]
        steps = np.array([row["step"] for row in rows], np.int64)
        return steps, np.array([row["return"] for row in rows], np.float64)

    def up_to(self, step: int) -> RunData:
        """The run without evaluations after a step; 0 is all of it."""
        rows = [row for row in self.evaluations if not step or row["step"] <= step]
        return self._replace(evaluations=rows)


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """The directories of runs in these directories, except those set aside by `--fresh`."""
    runs = {file.parent.resolve() for folder in folders for file in folder.rglob("config.json")}
    return sorted(run for run in runs if not re.search(r"-old-\d+$", run.name))


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """The name of each directory, with as many parents as needed to make it unique."""
    resolved = {path.resolve(): path for path in paths}
    names = {}
    for full, path in resolved.items():
        others = [other.parts for other in resolved if other != full]
        depth = 1
        while any(other[-depth:] == full.parts[-depth:] for other in others):
            depth += 1
        names[path] = "/".join(full.parts[-depth:])
    return names


def agent_labels(configs: dict[Path, dict[str, Any]]) -> dict[Path, str]:
    """A label for the agent of each run, the same for runs that differ only in their seed.

    Runs of a sweep have the sweep's name for the agent. Agents that would have the same label have
    their presets in it, where these differ, or else a number.
    """
    plain = {out: _label(out, config) for out, config in configs.items()}
    presets: dict[str, set[str]] = {}
    for out, config in configs.items():
        presets.setdefault(plain[out], set()).add(preset_of(config))
    by_settings: dict[str, str] = {}
    labels = {}
    for out, config in configs.items():
        settings = {name: value for name, value in config.items() if name not in NOT_OF_AGENT}
        differ = len(presets[plain[out]]) > 1 and preset_of(config)
        label = f"{plain[out]}, {preset_of(config)}" if differ else plain[out]
        key = json.dumps([label, settings], sort_keys=True)
        if key not in by_settings:
            same = sum(re.sub(r" \(\d+\)$", "", each) == label for each in by_settings.values())
            by_settings[key] = f"{label} ({same + 1})" if same else label
        labels[out] = by_settings[key]
    return labels


def preset_of(config: dict[str, Any]) -> str:
    """The preset of a run; empty where its settings do not say."""
    return str(config.get("preset", ""))


def _label(out: Path, config: dict[str, Any]) -> str:
    return out.parent.name if re.fullmatch(r"seed-\d+", out.name) else _describe(config)


def _describe(config: dict[str, Any]) -> str:
    agent, settings = str(config["agent"]), config["settings"]
    if agent not in ("hgqn", "hg-rainbow"):
        return agent
    if edges := settings.get("edges"):
        return f"{agent} {len(edges)} hyperedges"
    orders = sorted(settings.get("orders", ()))
    if orders and orders == list(range(1, len(orders) + 1)):
        return f"{agent} rank {len(orders)}"
    return f"{agent} orders {','.join(map(str, orders))}" if orders else agent
