"""Scores of runs over seeds, per environment and overall, as text, CSV or Markdown."""

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

from hyperaction.report.statistics import Estimate, Scores, Summary, normalise, summarise

ALL = "all environments"

NOT_OF_AGENT = ("env", "seed", "steps")
"""Settings in which runs of the same agent may differ."""

HEADER = ("environment", "agent", "runs", "steps", "mean", "median", "IQM")


class Result(NamedTuple):
    """The score of a run."""

    env: str
    agent: str
    score: float
    step: int
    """The step of the last evaluation in the score."""


class Line(NamedTuple):
    """The statistics of an agent in an environment, or in all of them."""

    env: str
    agent: str
    runs: int
    steps: str
    summary: Summary
    has_interval: bool
    """Whether some environment has several runs, without which there is no interval."""


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

    Runs of a sweep have the sweep's name for the agent.
    """
    by_settings: dict[str, str] = {}
    labels = {}
    for out, config in configs.items():
        settings = {name: value for name, value in config.items() if name not in NOT_OF_AGENT}
        in_sweep = re.fullmatch(r"seed-\d+", out.name)
        label = out.parent.name if in_sweep else _describe(config)
        key = json.dumps([label, settings], sort_keys=True)
        if key not in by_settings:
            same = sum(re.sub(r" \(\d+\)$", "", each) == label for each in by_settings.values())
            by_settings[key] = f"{label} ({same + 1})" if same else label
        labels[out] = by_settings[key]
    return labels


def _describe(config: dict[str, Any]) -> str:
    agent, settings = str(config["agent"]), config["settings"]
    if agent not in ("hgqn", "hg-rainbow"):
        return agent
    if edges := settings.get("edges"):
        return f"{agent} {len(edges)} hyperedges"
    return f"{agent} {','.join(map(str, settings.get('orders', ())))}".rstrip()


def score(evaluations: Sequence[dict[str, Any]], last: int, at: int) -> tuple[float, int]:
    """The mean of the last evaluations up to a step, and the step of the last one.

    Args:
        evaluations: Rows with a step and a return.
        last: How many evaluations to average.
        at: The last step to include; 0 includes all.

    Raises:
        ValueError: If there is no evaluation, none at that step yet, or the mean is not finite.
    """
    if not evaluations:
        raise ValueError("no result yet")
    try:
        rows = [(int(row["step"]), float(row["return"])) for row in evaluations]
    except (KeyError, TypeError, ValueError):
        raise ValueError("an evaluation lacks a step or a return") from None
    if at and rows[-1][0] < at:
        raise ValueError(f"only at step {rows[-1][0]:,} so far")
    included = [row for row in rows if not at or row[0] <= at]
    if not included:
        raise ValueError(f"the first evaluation is at step {rows[0][0]:,}")
    mean = float(np.mean([value for _, value in included[-last:]]))
    if not np.isfinite(mean):
        raise ValueError(f"the score is {mean}")
    return mean, included[-1][0]


def summary_lines(results: Sequence[Result]) -> list[Line]:
    """Each agent in each environment, then in all environments where every agent has runs."""
    grouped: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        grouped.setdefault(result.env, {}).setdefault(result.agent, []).append(result)
    scores: dict[str, dict[str, Scores]] = {
        env: {agent: np.array([run.score for run in runs]) for agent, runs in agents.items()}
        for env, agents in sorted(grouped.items())
    }
    lines = [
        Line(env, agent, len(runs), _steps(grouped[env][agent]), summarise([runs]), len(runs) > 1)
        for env, agents in scores.items()
        for agent, runs in agents.items()
    ]
    envs = shared_environments(results)
    if len(envs) < 2:
        return lines
    scaled = normalise({env: scores[env] for env in envs})
    for agent in scores[envs[0]]:
        runs = [scaled[env][agent] for env in envs]
        all_runs = [run for env in envs for run in grouped[env][agent]]
        has_interval = max(map(len, runs)) > 1
        steps = _steps(all_runs)
        lines.append(Line(ALL, agent, len(all_runs), steps, summarise(runs), has_interval))
    return lines


def shared_environments(results: Sequence[Result]) -> list[str]:
    """The environments in which every agent has runs."""
    agents = {result.agent for result in results}
    return [
        env
        for env in sorted({result.env for result in results})
        if agents == {result.agent for result in results if result.env == env}
    ]


def legend(results: Sequence[Result], last: int) -> str:
    """What the numbers of the tables are."""
    text = (
        f"A score is the mean return of a run's last {last} evaluations (95% intervals), or of its "
        "last phases of training if it has none."
    )
    envs = {result.env for result in results}
    shared = shared_environments(results)
    if len(envs) < 2:
        return text
    if len(shared) < 2:
        return f"{text} No two environments have runs of every agent, so there is no overall score."
    missing = sorted(envs - set(shared))
    without = f", without {', '.join(missing)}, where agents are missing" if missing else ""
    return f"{text} Overall scores{without} range from 0 (lowest) to 1 (highest) per environment."


def _steps(results: Sequence[Result]) -> str:
    steps = sorted({result.step for result in results})
    return f"{steps[0]:,}" if steps[0] == steps[-1] else f"{steps[0]:,} to {steps[-1]:,}"


def as_text(lines: Sequence[Line]) -> list[Table]:
    """Tables for the terminal, one per environment."""
    tables: dict[str, Table] = {}
    for line in lines:
        if line.env not in tables:
            tables[line.env] = Table(title=line.env, title_justify="left")
            for column, name in enumerate(HEADER[1:]):
                tables[line.env].add_column(name, justify="right" if column else "left")
        tables[line.env].add_row(*cells(line)[1:])
    return list(tables.values())


def as_markdown(lines: Sequence[Line]) -> str:
    """One Markdown table."""
    rows = [HEADER, ("---",) * len(HEADER), *(cells(line) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def as_csv(lines: Sequence[Line]) -> str:
    """All numbers as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [f"{name}{end}" for name in Summary._fields for end in ("", "_low", "_high")]
    writer.writerow(["environment", "agent", "runs", "steps", *names])
    for line in lines:
        numbers = [
            f"{value:.6g}" if line.has_interval or column == 0 else ""
            for estimate in line.summary
            for column, value in enumerate(estimate)
        ]
        writer.writerow([line.env, line.agent, line.runs, line.steps.replace(",", ""), *numbers])
    return file.getvalue()


def cells(line: Line) -> tuple[str, ...]:
    """The cells of a line, as text."""
    numbers = [_format(estimate, interval=line.has_interval) for estimate in line.summary]
    return (line.env, line.agent, str(line.runs), line.steps, *numbers)


def _format(estimate: Estimate, *, interval: bool) -> str:
    large = max(abs(value) for value in estimate) >= 100
    value, low, high = (f"{v:,.0f}" if large else f"{v:.2f}" for v in estimate)
    return f"{value} ({low} to {high})" if interval else value
