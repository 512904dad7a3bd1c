"""Runs as the studies read them: settings, curves, and what was published for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperaction.baselines.config import config_of
from hyperaction.envs.ids import game_of
from hyperaction.envs.roms import is_published_otherwise
from hyperaction.report.curves import PublishedCurve
from hyperaction.report.page.baselines import Published
from hyperaction.report.runs import RunData
from hyperaction.runs.reader import Metrics, read_metrics
from hyperaction.runs.schema import UnreadableError
from hyperaction.studies import atari, physical


def published_curve(config: dict[str, Any]) -> PublishedCurve | None:
    """The published curve for the agent and environment of a run, if there is one."""
    return physical.published_curve(config) or atari.published_curve(config)


def published_results(config: dict[str, Any]) -> Published:
    """All that was published for the environment of a run."""
    curve = published_curve(config)
    curves = physical.published_curves(config) + atari.published_curves(config)
    return Published(curve.agent if curve else "", curves, atari.published_scores(config))


def read_runs(names: Mapping[Path, str]) -> tuple[list[RunData], list[str]]:
    """The runs in directories, given by name, and a message for each that was not read whole."""
    runs, problems = [], []
    for out, name in names.items():
        try:
            config, metrics = config_of(out), read_metrics(out)
        except UnreadableError as error:
            problems.append(str(error))
            continue
        if metrics.problem:
            problems.append(metrics.problem)
        runs.append(RunData(name, out, config, _curve(config, metrics), metrics.of("train")))
    return runs, problems


def _curve(config: dict[str, Any], metrics: Metrics) -> list[dict[str, Any]]:
    """The evaluations of a run, or the returns of its training if there are none.

    Atari games are always scored by training returns, as in all published results. A phase in which
    no episode ended has no return.
    """
    evaluations = [] if game_of(config["env"]) else metrics.of("eval")
    return evaluations or [row for row in metrics.of("train") if "return" in row]


def version_notes(configs: dict[str, dict[str, Any]]) -> list[str]:
    """A note on the runs, by name, whose games were published with another version of the game."""
    names = [
        name
        for name, config in configs.items()
        if game_of(config["env"])
        and not config["roms"]
        and published_curve(config)
        and is_published_otherwise(config["env"])
    ]
    if not names:
        return []
    shown = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return [
        f"{', '.join(shown)}: the published agents played a different version of this game than "
        f"ale-py's; train --roms plays it"
    ]
