"""What the page shows, read from the directories of runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperaction.report.compare import Spread
from hyperaction.report.table import HEADER, Result, cells, find_runs, labels, lines, score

Published = Callable[[dict[str, Any]], Spread | None]
"""What was published for an agent of these settings, if anything."""

EXPLANATION = Path("explain") / "explain.json"
"""Where the page looks for what `hyperaction explain` found, in the directory of a run."""


class Found(NamedTuple):
    """A run that was found."""

    name: str
    out: Path
    config: dict[str, Any]
    evaluations: list[dict[str, Any]]
    phases: list[dict[str, Any]]


def collect(found: Sequence[Found], published: Published, last: int) -> dict[str, Any]:
    """Everything that the page shows, ready for JSON."""
    names = labels({run.out: run.config for run in found})
    spreads = {}
    for run in found:
        spread = published(run.config)
        if spread is not None:
            spreads[f"{run.config['env']}/{names[run.out]}"] = _spread(spread)
    return {
        "runs": [_run(run, names[run.out]) for run in found],
        "published": spreads,
        "tables": _tables(found, names, last),
        "explanations": _explanations(found, names),
        "last": last,
    }


def named(folders: Sequence[Path]) -> list[tuple[str, Path]]:
    """The runs in directories, with the shortest names that tell them apart."""
    outs = find_runs(folders)
    if len({out.name for out in outs}) == len(outs):
        return [(out.resolve().name, out) for out in outs]
    return [(str(out), out) for out in outs]


def _run(run: Found, agent: str) -> dict[str, Any]:
    speeds = [row["steps_per_second"] for row in run.phases if "steps_per_second" in row]
    settings = {name: value for name, value in run.config.items() if name != "settings"}
    evaluations = [row for row in run.evaluations if np.isfinite(row.get("return", np.nan))]
    return {
        "name": run.name,
        "env": run.config["env"],
        "agent": agent,
        "seed": run.config.get("seed"),
        "total": run.config["steps"],
        "steps": [row["step"] for row in evaluations],
        "returns": [row["return"] for row in evaluations],
        "speed": float(np.mean(speeds)) if speeds else None,
        "settings": {**settings, **run.config["settings"]},
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "agent": spread.agent,
        "steps": spread.steps.tolist(),
        "mean": spread.mean.tolist(),
        "low": spread.minimum.tolist(),
        "high": spread.maximum.tolist(),
    }


def _tables(found: Sequence[Found], names: dict[Path, str], last: int) -> list[dict[str, Any]]:
    results = []
    for run in found:
        with suppress(ValueError):  # It has no score, or none that is a number.
            scored = score(run.evaluations, last, 0)
            results.append(Result(run.config["env"], names[run.out], *scored))
    tables: dict[str, list[list[str]]] = {}
    for line in lines(results) if results else []:
        env, *rest = cells(line)
        tables.setdefault(env, []).append(rest)
    return [{"env": env, "header": HEADER[1:], "rows": rows} for env, rows in tables.items()]


def _explanations(found: Sequence[Found], names: dict[Path, str]) -> list[dict[str, Any]]:
    explained = []
    for run in found:
        file = run.out / EXPLANATION
        if file.is_file():
            try:
                explanation = json.loads(file.read_text())
                shown = {key: explanation[key] for key in EXPLAINED}
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{file} is damaged: {error}") from None
            about = {"run": run.name, "env": run.config["env"], "agent": names[run.out]}
            explained.append({**about, **shown})
    return explained


EXPLAINED = ("names", "sizes", "steps", "representation", "shares")
