"""The data of the page, from the directories of runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperaction.report.curves import PublishedCurve
from hyperaction.report.explain import COLUMNS
from hyperaction.report.tables import (
    HEADER,
    Result,
    agent_labels,
    cells,
    score,
    summary_lines,
)
from hyperaction.runs.directory import flat_settings

Published = Callable[[dict[str, Any]], PublishedCurve | None]
"""Finds the published curve for the settings of a run, if there is one."""

EXPLANATION = Path("explain") / "explain.json"
"""The output of `hyperaction explain` in the directory of a run."""


class RunData(NamedTuple):
    """What was read from the directory of a run."""

    name: str
    out: Path
    config: dict[str, Any]
    evaluations: list[dict[str, Any]]
    phases: list[dict[str, Any]]


def collect(runs: Sequence[RunData], published: Published, last: int) -> dict[str, Any]:
    """Everything that the page shows, ready for JSON.

    Args:
        runs: The runs.
        published: Finds published curves.
        last: How many evaluations a score averages.
    """
    labels = agent_labels({run.out: run.config for run in runs})
    curves = {}
    for run in runs:
        curve = published(run.config)
        if curve is not None:
            curves[f"{run.config['env']}/{labels[run.out]}"] = _curve(curve)
    return {
        "runs": [_run(run, labels[run.out]) for run in runs],
        "published": curves,
        "tables": _tables(runs, labels, last),
        "explanations": _explanations(runs, labels),
        "last": last,
    }


def _run(run: RunData, agent: str) -> dict[str, Any]:
    speeds = _numbers(run.phases, "step", "steps_per_second")
    settings = {name: v for name, v in run.config.items() if name not in ("settings", "format")}
    settings |= flat_settings(run.config["settings"])
    evaluations = _numbers(run.evaluations, "step", "return")
    return {
        "name": run.name,
        "env": run.config["env"],
        "agent": agent,
        "seed": run.config.get("seed"),
        "total": run.config["steps"],
        "steps": [step for step, _ in evaluations],
        "returns": [value for _, value in evaluations],
        "speed": float(np.mean([speed for _, speed in speeds])) if speeds else None,
        "settings": {name: _as_json(v) for name, v in settings.items()},
    }


def _numbers(rows: Sequence[dict[str, Any]], *names: str) -> list[tuple[float, ...]]:
    """These numbers of the rows that have all of them."""
    numbers = []
    for row in rows:
        with suppress(KeyError, TypeError, ValueError):
            numbers.append(tuple(_finite(row[name]) for name in names))
    return numbers


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _curve(curve: PublishedCurve) -> dict[str, Any]:
    return {
        "agent": curve.agent,
        "steps": curve.steps.tolist(),
        "mean": curve.mean.tolist(),
        "low": curve.minimum.tolist(),
        "high": curve.maximum.tolist(),
    }


def _tables(runs: Sequence[RunData], labels: dict[Path, str], last: int) -> list[dict[str, Any]]:
    results = []
    for run in runs:
        with suppress(ValueError):  # It has no finite score.
            scored = score(run.evaluations, last, 0)
            results.append(Result(run.config["env"], labels[run.out], *scored))
    tables: dict[str, list[list[str]]] = {}
    for line in summary_lines(results) if results else []:
        env, *rest = cells(line)
        tables.setdefault(env, []).append(rest)
    return [{"env": env, "header": HEADER[1:], "rows": rows} for env, rows in tables.items()]


def _explanations(runs: Sequence[RunData], labels: dict[Path, str]) -> list[dict[str, Any]]:
    explained = []
    for run in runs:
        file = run.out / EXPLANATION
        # A damaged file is skipped: the command can be run again.
        with suppress(OSError, ValueError, KeyError, TypeError):
            shown = _explanation(json.loads(file.read_text()))
            about = {"run": run.name, "env": run.config["env"], "agent": labels[run.out]}
            explained.append({**about, **shown})
    return explained


def _explanation(content: dict[str, Any]) -> dict[str, Any]:
    sizes = [int(size) for size in content["sizes"]]

    def checked(vertices: Any) -> list[int]:
        part = [int(vertex) for vertex in vertices]
        if not all(0 <= vertex < len(sizes) for vertex in part):
            raise ValueError(f"{vertices} are not vertices")
        return part

    return {
        "names": [str(name) for name in content["names"]],
        "sizes": sizes,
        "steps": int(content["steps"]),
        "representation": [
            {"edge": checked(row["edge"])} | {key: _finite(row[key]) for key in COLUMNS}
            for row in content["representation"]
        ],
        "shares": [
            {"vertices": checked(row["vertices"]), "share": _finite(row["share"])}
            for row in content["shares"]
        ],
    }


def _finite(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{value} is not finite")
    return number
