"""Runs summed up over seeds, per environment and over all, as text, CSV or Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from hyperaction.report.statistics import Estimate, Scores, Summary, normalised, summary

ALL = "all environments"


class Result(NamedTuple):
    """A run and its score."""

    env: str
    agent: str
    score: float
    step: int
    """Of the last evaluation that counts."""


class Line(NamedTuple):
    """An agent in an environment, or in all."""

    env: str
    agent: str
    runs: int
    steps: str
    found: Summary
    spread: bool
    """Whether some environment has several runs, without which there is no interval."""


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """The directories of runs in these directories, but for those that were put aside."""
    found = {file.parent.resolve() for folder in folders for file in folder.rglob("config.json")}
    return sorted(out for out in found if not re.search(r"-old-\d+$", out.name))


def labels(configs: dict[Path, dict[str, Any]]) -> dict[Path, str]:
    """A name for the agent of each run: runs of the same settings, seed aside, have the same.

    Within a sweep it is the sweep's name for the agent.
    """
    names: dict[str, str] = {}
    found = {}
    for out, config in configs.items():
        same = {name: value for name, value in config.items() if name not in OF_A_RUN}
        swept = re.fullmatch(r"seed-\d+", out.name)
        name = out.parent.name if swept else _described(config)
        key = json.dumps([name, same], sort_keys=True)
        if key not in names:
            taken = sum(re.sub(r" \(\d+\)$", "", other) == name for other in names.values())
            names[key] = f"{name} ({taken + 1})" if taken else name
        found[out] = names[key]
    return found


OF_A_RUN = ("env", "seed", "steps")


def _described(config: dict[str, Any]) -> str:
    agent, settings = str(config["agent"]), config["settings"]
    if agent not in ("hgqn", "hg-rainbow"):
        return agent
    if edges := settings.get("edges"):
        return f"{agent} {len(edges)} hyperedges"
    return f"{agent} {','.join(map(str, settings.get('orders', ())))}".rstrip()


def score(evaluations: Sequence[dict[str, Any]], last: int, at: int) -> tuple[float, int]:
    """The mean of the last evaluations up to a step (0: the end), and the step.

    A run that has none, or has not come so far, or whose returns are no numbers, is refused.
    """
    if not evaluations:
        raise ValueError("it has no result yet")
    try:
        rows = [(int(row["step"]), float(row["return"])) for row in evaluations]
    except (KeyError, TypeError, ValueError):
        raise ValueError("its evaluations lack a step or a return") from None
    if at and rows[-1][0] < at:
        raise ValueError(f"it has come to step {rows[-1][0]:,} only")
    counted = [row for row in rows if not at or row[0] <= at]
    if not counted:
        raise ValueError(f"its first evaluation is at step {rows[0][0]:,}")
    mean = float(np.mean([value for _, value in counted[-last:]]))
    if not np.isfinite(mean):
        raise ValueError(f"its score is {mean}")
    return mean, counted[-1][0]


def lines(results: Sequence[Result]) -> list[Line]:
    """Every agent in every environment, then in all environments that every agent was in."""
    grouped: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        grouped.setdefault(result.env, {}).setdefault(result.agent, []).append(result)
    scores: dict[str, dict[str, Scores]] = {
        env: {agent: np.array([run.score for run in runs]) for agent, runs in agents.items()}
        for env, agents in sorted(grouped.items())
    }
    found = [
        Line(env, agent, len(runs), _steps(grouped[env][agent]), summary([runs]), len(runs) > 1)
        for env, agents in scores.items()
        for agent, runs in agents.items()
    ]
    everywhere = shared(results)
    if len(everywhere) < 2:
        return found
    scaled = normalised({env: scores[env] for env in everywhere})
    for agent in scores[everywhere[0]]:
        runs = [scaled[env][agent] for env in everywhere]
        every = [run for env in everywhere for run in grouped[env][agent]]
        spread = max(map(len, runs)) > 1
        found.append(Line(ALL, agent, len(every), _steps(every), summary(runs), spread))
    return found


def shared(results: Sequence[Result]) -> list[str]:
    """The environments that every agent has runs in."""
    agents = {result.agent for result in results}
    return [
        env
        for env in sorted({result.env for result in results})
        if agents == {result.agent for result in results if result.env == env}
    ]


def explained(results: Sequence[Result], last: int) -> str:
    """What the numbers are."""
    said = (
        f"A score is the mean return of a run's last {last} evaluations (95% intervals), or of its "
    )
    said += "last phases of training where it has none."
    envs = {result.env for result in results}
    everywhere = shared(results)
    if len(envs) < 2:
        return said
    if len(everywhere) < 2:
        return f"{said} No two environments have runs of every agent, so nothing is said of all."
    left_out = sorted(envs - set(everywhere))
    without = f" without {', '.join(left_out)}, where agents are missing," if left_out else ""
    return f"{said} Over all,{without} they go from 0 (the lowest) to 1 (the highest) in each."


def _steps(results: Sequence[Result]) -> str:
    steps = sorted({result.step for result in results})
    return f"{steps[0]:,}" if steps[0] == steps[-1] else f"{steps[0]:,} to {steps[-1]:,}"


def as_text(found: Sequence[Line]) -> list[Table]:
    """Tables for the terminal, one for each environment."""
    tables: dict[str, Table] = {}
    for line in found:
        if line.env not in tables:
            tables[line.env] = Table(title=line.env, title_justify="left")
            for place, name in enumerate(HEADER[1:]):
                tables[line.env].add_column(name, justify="right" if place else "left")
        tables[line.env].add_row(*cells(line)[1:])
    return list(tables.values())


def as_markdown(found: Sequence[Line]) -> str:
    """A table for a page."""
    rows = [HEADER, ("---",) * len(HEADER), *(cells(line) for line in found)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def as_csv(found: Sequence[Line]) -> str:
    """All numbers, for other programs."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [f"{name}{end}" for name in Summary._fields for end in ("", "_low", "_high")]
    writer.writerow(["environment", "agent", "runs", "steps", *names])
    for line in found:
        numbers = [
            f"{value:.6g}" if line.spread or place == 0 else ""
            for estimate in line.found
            for place, value in enumerate(estimate)
        ]
        writer.writerow([line.env, line.agent, line.runs, line.steps.replace(",", ""), *numbers])
    return file.getvalue()


HEADER = ("environment", "agent", "runs", "steps", "mean", "median", "IQM")


def cells(line: Line) -> tuple[str, ...]:
    """A line in words."""
    numbers = [_told(estimate, spread=line.spread) for estimate in line.found]
    return (line.env, line.agent, str(line.runs), line.steps, *numbers)


def _told(estimate: Estimate, *, spread: bool) -> str:
    large = max(abs(value) for value in estimate) >= 100
    value, low, high = (f"{v:,.0f}" if large else f"{v:.2f}" for v in estimate)
    return f"{value} ({low} to {high})" if spread else value
