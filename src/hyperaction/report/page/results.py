"""How runs ended: a row for each agent in each environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hyperaction.report.page.series import seconds_at
from hyperaction.report.runs import RunData, preset_of
from hyperaction.report.tables import (
    ALL,
    Line,
    Result,
    format_estimate,
    legend,
    score,
    summary_lines,
)


def results(runs: Sequence[RunData], labels: Mapping[Path, str], last: int) -> dict[str, Any]:
    """The rows of the table of results, and what its numbers are.

    Args:
        runs: The runs.
        labels: The names of their agents.
        last: How many evaluations a score averages, at most.
    """
    scored = _scored(runs, labels, last)
    lines = {(line.env, line.agent): line for line in (summary_lines(scored) if scored else [])}
    groups: dict[tuple[str, str], list[RunData]] = {}
    for run in runs:
        groups.setdefault((run.config["env"], labels[run.out]), []).append(run)
    rows = [_row(*key, group, lines.get(key)) for key, group in sorted(groups.items())]
    rows += [
        {"env": ALL, "agent": agent, "runs": 0, **_numbers(line)}
        for (env, agent), line in lines.items()
        if env == ALL
    ]
    return {"rows": rows, "note": legend(scored, last) if scored else ""}


def _scored(runs: Sequence[RunData], labels: Mapping[Path, str], last: int) -> list[Result]:
    found = []
    for run in runs:
        with suppress(ValueError):  # It has no finite score.
            value = score(run.evaluations, last, 0)
            found.append(Result(run.config["env"], labels[run.out], run.config["seed"], value))
    return found


def _row(env: str, agent: str, runs: Sequence[RunData], line: Line | None) -> dict[str, Any]:
    times = [seconds_at(run, [last_step(run)]) for run in runs]
    seconds = [float(each[0]) for each in times if each is not None]
    speeds = [last_step(run) / spent for run, spent in zip(runs, seconds, strict=False) if spent]
    points = [run.points for run in runs if len(run.points[0])]
    best = max((float(returns.max()) for _, returns in points), default=None)
    return {
        "env": env,
        "agent": agent,
        "preset": preset_of(runs[0].config),
        "runs": len(runs),
        "seeds": sorted({run.config["seed"] for run in runs}),
        "step": sorted({last_step(run) for run in runs}),
        "total": sorted({run.config["steps"] for run in runs}),
        "complete": sum(is_complete(run) for run in runs),
        "best": best,
        "seconds": float(np.mean(seconds)) if len(seconds) == len(runs) else None,
        "speed": float(np.mean(speeds)) if len(speeds) == len(runs) else None,
        **(_numbers(line) if line else {"mean": None, "iqm": None, "value": None}),
    }


def _numbers(line: Line) -> dict[str, Any]:
    """The statistics of a line, as text, and its mean."""
    mean = format_estimate(line.summary.mean, interval=line.has_interval)
    iqm = format_estimate(line.summary.iqm, interval=line.has_interval)
    return {
        "value": line.summary.mean.value,
        "mean": mean,
        "iqm": None if iqm == mean else iqm,  # Of fewer than four seeds, they are the same.
        "evaluations": line.evaluations,
    }


def last_step(run: RunData) -> int:
    """The last step of which a run has results."""
    return max((int(row["step"]) for row in [*run.evaluations[-1:], *run.phases[-1:]]), default=0)


def is_complete(run: RunData) -> bool:
    """Whether all steps that were asked for are done and evaluated."""
    return bool(run.evaluations) and int(run.evaluations[-1]["step"]) >= int(run.config["steps"])
