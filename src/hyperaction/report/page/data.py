"""What the page shows, read from the directories of runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperaction.report.compare import Spread
from hyperaction.report.explain import COLUMNS
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
    for depth in range(1, max((len(out.parts) for out in outs), default=0) + 1):
        names = ["/".join(out.parts[-depth:]) for out in outs]
        if len(set(names)) == len(names):
            return list(zip(names, outs, strict=True))
    return []


def _run(run: Found, agent: str) -> dict[str, Any]:
    speeds = _numbers(run.phases, "step", "steps_per_second")
    settings = {name: value for name, value in run.config.items() if name != "settings"}
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
        "settings": {name: _told(v) for name, v in (settings | run.config["settings"]).items()},
    }


def _numbers(rows: Sequence[dict[str, Any]], *names: str) -> list[tuple[float, ...]]:
    """These numbers of rows, of those that have them all."""
    found = []
    for row in rows:
        with suppress(KeyError, TypeError, ValueError):
            found.append(tuple(_finite(row[name]) for name in names))
    return found


def _told(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


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
        # One that is damaged is none: it can be made anew.
        with suppress(OSError, ValueError, KeyError, TypeError):
            shown = _explanation(json.loads(file.read_text()))
            about = {"run": run.name, "env": run.config["env"], "agent": names[run.out]}
            explained.append({**about, **shown})
    return explained


def _explanation(found: dict[str, Any]) -> dict[str, Any]:
    sizes = [int(size) for size in found["sizes"]]

    def part(vertices: Any) -> list[int]:
        known = [int(vertex) for vertex in vertices]
        if not all(0 <= vertex < len(sizes) for vertex in known):
            raise ValueError(f"{vertices} are not vertices")
        return known

    return {
        "names": [str(name) for name in found["names"]],
        "sizes": sizes,
        "steps": int(found["steps"]),
        "representation": [
            {"edge": part(row["edge"])} | {key: _finite(row[key]) for key in COLUMNS}
            for row in found["representation"]
        ],
        "shares": [
            {"vertices": part(row["vertices"]), "share": _finite(row["share"])}
            for row in found["shares"]
        ],
    }


def _finite(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{value} is not finite")
    return number
