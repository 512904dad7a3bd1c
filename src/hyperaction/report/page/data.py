"""The data of the page, from the directories of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hyperaction.report.curves import PublishedCurve
from hyperaction.report.explain import COLUMNS
from hyperaction.report.runs import RunData, agent_labels
from hyperaction.report.statistics import mean_curve
from hyperaction.report.tables import HEADER, Result, cells, legend, score, summary_lines
from hyperaction.runs.directory import STRUCTURE, flat_settings
from hyperaction.runs.reader import read_json
from hyperaction.runs.schema import (
    COUNT,
    FINITE,
    FLAG,
    SIZES,
    TABLE,
    TEXTS,
    Kind,
    UnreadableError,
    check,
    is_list,
)

Published = Callable[[dict[str, Any]], PublishedCurve | None]
"""Finds the published curve for the settings of a run, if there is one."""

EXPLANATION = Path("explain") / "explain.json"
"""The output of `hyperaction explain` in the directory of a run."""


def collect(
    runs: Sequence[RunData], published: Published, last: int
) -> tuple[dict[str, Any], list[str]]:
    """Everything that the page shows, ready for JSON, and what could not be read.

    Args:
        runs: The runs.
        published: Finds published curves.
        last: How many evaluations a score averages, at most.
    """
    labels = agent_labels({run.out: run.config for run in runs})
    curves = {}
    for run in runs:
        curve = published(run.config)
        if curve is not None:
            curves[f"{run.config['env']}/{labels[run.out]}"] = _curve(curve)
    explanations, problems = _explanations(runs, labels)
    structures, more = _structures(runs, labels)
    results = _results(runs, labels, last)
    data = {
        "runs": [_run(run, labels[run.out]) for run in runs],
        "means": _means(runs, labels),
        "published": curves,
        "tables": _tables(results),
        "tables_note": legend(results, last),
        "explanations": explanations,
        "structures": structures,
    }
    return data, problems + more


def _run(run: RunData, agent: str) -> dict[str, Any]:
    speeds = [row["steps_per_second"] for row in run.phases if "steps_per_second" in row]
    speeds = [speed for speed in speeds if np.isfinite(speed)]
    settings = {name: v for name, v in run.config.items() if name not in ("settings", "format")}
    settings |= flat_settings(run.config["settings"])
    steps, returns = run.points
    return {
        "name": run.name,
        "env": run.config["env"],
        "agent": agent,
        "seed": run.config["seed"],
        "total": run.config["steps"],
        "steps": steps.tolist(),
        "returns": returns.tolist(),
        "speed": float(np.mean(speeds)) if speeds else None,
        "settings": settings,
    }


def _means(runs: Sequence[RunData], labels: dict[Path, str]) -> list[dict[str, Any]]:
    """The mean over seeds of each agent in each environment, a row per step."""
    groups: dict[tuple[str, str], list[RunData]] = {}
    for run in runs:
        if len(run.points[0]):
            groups.setdefault((run.config["env"], labels[run.out]), []).append(run)
    rows = []
    for (env, agent), seeds in groups.items():
        curve = mean_curve([run.points for run in seeds])
        columns = [column.tolist() for column in curve]
        names = ("step", "mean", "low", "high", "seeds")
        about = {"env": env, "agent": agent}
        rows += [about | dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows


def _curve(curve: PublishedCurve) -> dict[str, Any]:
    return {
        "agent": curve.agent,
        "steps": curve.steps.tolist(),
        "mean": curve.mean.tolist(),
        "low": curve.minimum.tolist(),
        "high": curve.maximum.tolist(),
    }


def _results(runs: Sequence[RunData], labels: dict[Path, str], last: int) -> list[Result]:
    results = []
    for run in runs:
        with suppress(ValueError):  # It has no finite score.
            scored = score(run.evaluations, last, 0)
            results.append(Result(run.config["env"], labels[run.out], run.config["seed"], scored))
    return results


def _tables(results: Sequence[Result]) -> list[dict[str, Any]]:
    tables: dict[str, list[list[str]]] = {}
    for line in summary_lines(results) if results else []:
        env, *rest = cells(line)
        tables.setdefault(env, []).append(rest)
    return [{"env": env, "header": HEADER[1:], "rows": rows} for env, rows in tables.items()]


def _explanations(
    runs: Sequence[RunData], labels: dict[Path, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    return _of_runs(runs, labels, EXPLANATION, _explanation)


def _structures(
    runs: Sequence[RunData], labels: dict[Path, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    return _of_runs(runs, labels, Path(STRUCTURE), _structure)


def _of_runs(
    runs: Sequence[RunData],
    labels: dict[Path, str],
    name: Path,
    checked: Callable[[Any], dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[str]]:
    """What a file in the directories of runs holds, where there is one, and what is wrong."""
    found, problems = [], []
    for run in runs:
        file = run.out / name
        if not file.exists():
            continue
        try:
            shown = read_json(file, checked)
        except UnreadableError as error:
            problems.append(str(error))
            continue
        about = {"run": run.name, "env": run.config["env"], "agent": labels[run.out]}
        found.append({**about, **shown})
    return found, problems


ROWS = Kind("a list of tables", lambda value: is_list(value, TABLE.fits))

SCHEMA = {"names": TEXTS, "sizes": SIZES, "steps": COUNT, "representation": ROWS, "shares": ROWS}
"""What the output of `hyperaction explain` has."""


def _vertices(count: int) -> Kind:
    return Kind("vertices", lambda value: is_list(value, lambda v: v in range(count)))


def _structure(content: Any) -> dict[str, Any]:
    """What the page shows of how hyperedges changed."""
    check(content, {"sizes": SIZES, "changes": ROWS})
    vertices = _vertices(len(content["sizes"]))
    edges = Kind("hyperedges", lambda value: is_list(value, vertices.fits))
    for change in content["changes"]:
        check(change, {"step": COUNT, "message": MESSAGE, "edges": edges, "shares": ROWS})
        for row in change["shares"]:
            check(row, {"vertices": vertices, "share": FINITE, "kept": FLAG})
    return {name: content[name] for name in ("sizes", "changes")}


MESSAGE = Kind("text", lambda value: isinstance(value, str))


def _explanation(content: Any) -> dict[str, Any]:
    """What the page shows of an explanation."""
    check(content, SCHEMA)
    count = len(content["sizes"])
    vertices = _vertices(count)
    for row in content["representation"]:
        check(row, {"edge": vertices, **dict.fromkeys(COLUMNS, FINITE)})
    for row in content["shares"]:
        check(row, {"vertices": vertices, "share": FINITE})
    return {name: content[name] for name in SCHEMA}
