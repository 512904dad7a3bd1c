"""Scores of runs over seeds, per environment and overall, as text, CSV or Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from hyperaction.errors import printable
from hyperaction.report.statistics import (
    MIN_SEEDS,
    Estimate,
    Scores,
    Summary,
    normalise,
    summarise,
)

ALL = "all environments"

HEADER = ("environment", "agent", "seeds", "steps", "evaluations", "mean", "median", "IQM")


class Score(NamedTuple):
    """The score of a run."""

    value: float
    step: int
    """The step of the last evaluation in the score."""
    evaluations: int
    """How many evaluations it is the mean of."""


class Result(NamedTuple):
    """The score of a run, and what it is a run of."""

    env: str
    agent: str
    seed: int
    score: Score


class Line(NamedTuple):
    """The statistics of an agent in an environment, or in all of them."""

    env: str
    agent: str
    seeds: str
    steps: str
    evaluations: str
    summary: Summary
    has_interval: bool
    """Whether there are enough seeds for one, in every environment."""


def score(evaluations: Sequence[dict[str, Any]], last: int, at: int) -> Score:
    """The mean of the last evaluations up to a step, of no more than the last half of them.

    Args:
        evaluations: Rows with a step and a return, by increasing step.
        last: How many evaluations to average, at most.
        at: The last step to include; 0 includes all.

    Raises:
        ValueError: If there is no evaluation, none at that step yet, or the mean is not finite.
    """
    if not evaluations:
        raise ValueError("no result yet")
    if at and evaluations[-1]["step"] < at:
        raise ValueError(f"only at step {evaluations[-1]['step']:,} so far")
    included = [row for row in evaluations if not at or row["step"] <= at]
    if not included:
        raise ValueError(f"the first evaluation is at step {evaluations[0]['step']:,}")
    count = min(last, max(1, len(included) // 2))
    mean = float(np.mean([row["return"] for row in included[-count:]]))
    if not np.isfinite(mean):
        raise ValueError(f"the score is {mean}")
    return Score(mean, included[-1]["step"], count)


def summary_lines(results: Sequence[Result]) -> list[Line]:
    """Each agent in each environment, then in all environments where every agent has runs."""
    grouped: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        grouped.setdefault(result.env, {}).setdefault(result.agent, []).append(result)
    scores: dict[str, dict[str, Scores]] = {
        env: {agent: np.array([run.score.value for run in runs]) for agent, runs in agents.items()}
        for env, agents in sorted(grouped.items())
    }
    lines = [
        _line(env, agent, [grouped[env][agent]], [runs])
        for env, agents in scores.items()
        for agent, runs in agents.items()
    ]
    envs = shared_environments(results)
    if len(envs) < 2:
        return lines
    scaled = normalise({env: scores[env] for env in envs})
    for agent in scores[envs[0]]:
        by_env = [grouped[env][agent] for env in envs]
        lines.append(_line(ALL, agent, by_env, [scaled[env][agent] for env in envs]))
    return lines


def _line(
    env: str, agent: str, by_env: Sequence[Sequence[Result]], scores: Sequence[Scores]
) -> Line:
    """The line of an agent, given its runs and their scores in each environment."""
    runs = [run for each in by_env for run in each]
    seeds = [len({run.seed for run in each}) for each in by_env]
    return Line(
        env,
        agent,
        _range(seeds) if sum(seeds) == len(runs) else f"{_range(seeds)} ({len(runs)} runs)",
        _range([run.score.step for run in runs]),
        _range([run.score.evaluations for run in runs]),
        summarise(scores),
        has_interval=min(seeds) >= MIN_SEEDS,
    )


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
        f"A score is the mean return of {_averaged(results)}, or of its last phases of training if "
        f"it has none (at most {last}, and at most half of them)"
    )
    several = len({(result.env, result.agent) for result in results}) < len(results)
    text += (
        f"; in brackets 95% bootstrap intervals, where there are at least {MIN_SEEDS} seeds."
        if several
        else "."
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


def _averaged(results: Sequence[Result]) -> str:
    """The evaluations that scores average, in words."""
    counts = [result.score.evaluations for result in results]
    if not counts or max(counts) == 1:
        return "a run's last evaluation"
    return f"a run's last {_range(counts)} evaluations"


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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
    return markdown(HEADER, [cells(line) for line in lines])


def as_csv(lines: Sequence[Line]) -> str:
    """All numbers as CSV."""
    names = [f"{name}{end}" for name in Summary._fields for end in ("", "_low", "_high")]
    rows = []
    for line in lines:
        numbers = [
            f"{value:.6g}" if line.has_interval or column == 0 else ""
            for estimate in line.summary
            for column, value in enumerate(estimate)
        ]
        counts = [each.replace(",", "") for each in (line.seeds, line.steps, line.evaluations)]
        rows.append([line.env, line.agent, *counts, *numbers])
    return comma_separated([*HEADER[:5], *names], rows)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells."""
    shown = [[printable(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [header, ("---",) * len(header), *shown]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """CSV of cells."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([printable(cell) for cell in row] for row in rows)
    return file.getvalue()


def cells(line: Line) -> tuple[str, ...]:
    """The cells of a line, as text."""
    numbers = [format_estimate(estimate, interval=line.has_interval) for estimate in line.summary]
    return (line.env, line.agent, line.seeds, line.steps, line.evaluations, *numbers)


def format_estimate(estimate: Estimate, *, interval: bool) -> str:
    """A number as tables show it, with or without its interval."""
    large = max(abs(value) for value in estimate) >= 100
    value, low, high = (f"{v:,.0f}" if large else f"{v:.2f}" for v in estimate)
    return f"{value} ({low} to {high})" if interval else value
