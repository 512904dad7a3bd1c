"""Agents against a baseline, seed by seed: is the difference more than chance?

Runs of the same environment and seed are a pair. Each pair is compared by the area under the curve
(the mean return over the steps that both runs have) and by the score at the last of these steps.
The sign-flip test tells gain from chance: if the agents were equal, each difference could as well
have had the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.table import Table

from hyperaction.report.runs import RunData
from hyperaction.report.statistics import MIN_SEEDS, Estimate, Scores, at_steps, summarise
from hyperaction.report.tables import ALL, comma_separated, format_estimate, markdown, score

MAX_EXACT = 16
"""Up to so many pairs, all signs are tried; of more, random ones."""

RANDOM_FLIPS = 100_000
LEVEL = 0.05
"""Differences that chance alone exceeds less often than this are called a gain or a loss."""


class Pair(NamedTuple):
    """The measures of two runs of one seed, over the steps that both have."""

    env: str
    area: tuple[float, float]
    """Of the agent, and of the baseline."""
    last: tuple[float, float]


class Comparison(NamedTuple):
    """An agent against the baseline by one measure."""

    value: float
    baseline: float
    difference: Estimate
    chance: float
    """How often chance alone gives a difference this large, in either direction."""


class Line(NamedTuple):
    """An agent against the baseline, in one environment or in all of them."""

    env: str
    agent: str
    pairs: int
    area: Comparison
    last: Comparison


def pair(run: RunData, baseline: RunData, last: int) -> Pair:
    """Two runs of one seed, compared.

    Args:
        run: The agent's.
        baseline: The baseline's.
        last: The number of evaluations in a score, at most.

    Raises:
        ValueError: If one of them has no result, or they have no steps in common.
    """
    for each in (run, baseline):
        if not len(each.points[0]):
            raise ValueError(f"{each.out}: no result yet")
    end = min(run.points[0][-1], baseline.points[0][-1])
    begin = max(run.points[0][0], baseline.points[0][0])
    if begin > end:
        raise ValueError(f"{run.out} and {baseline.out} have no steps in common")
    both = np.union1d(run.points[0], baseline.points[0])
    steps = both[(both >= begin) & (both <= end)]
    areas = [_mean_over(steps, at_steps(each.points, steps)) for each in (run, baseline)]
    lasts = [
        score([row for row in each.evaluations if row["step"] <= end], last, 0).value
        for each in (run, baseline)
    ]
    return Pair(run.config["env"], (areas[0], areas[1]), (lasts[0], lasts[1]))


def _mean_over(steps: Scores, values: Scores) -> float:
    if len(steps) == 1:
        return float(values[0])
    return float(np.trapezoid(values, steps) / (steps[-1] - steps[0]))


def chance(differences: Scores, seed: int = 0) -> float:
    """How often random signs give a mean at least as far from zero, signs as they are included."""
    count = len(differences)
    if count <= MAX_EXACT:
        signs = np.array(list(product((1, -1), repeat=count)))
    else:
        random = np.random.default_rng(seed)
        signs = random.choice((1, -1), size=(RANDOM_FLIPS, count))
        signs[0] = 1
    means = np.abs((signs * differences).mean(axis=1))
    observed = abs(float(differences.mean()))
    return float(np.mean(means >= observed * (1 - 1e-9)))


def compare(pairs: dict[str, list[Pair]]) -> list[Line]:
    """A line for each environment and agent, and over all environments if there are several."""
    lines = []
    for agent, own in pairs.items():
        by_env: dict[str, list[Pair]] = {}
        for each in own:
            by_env.setdefault(each.env, []).append(each)
        lines += [_line(env, agent, [group]) for env, group in by_env.items()]
        if len(by_env) > 1:
            lines.append(_line(ALL, agent, list(by_env.values())))
    return sorted(lines, key=lambda line: (line.env == ALL, line.env))


def _line(env: str, agent: str, groups: Sequence[Sequence[Pair]]) -> Line:
    """The line of an agent, given its pairs in each environment.

    Over several environments, values are in units of the spread in each, so that none outweighs
    another.
    """

    def compared(measure: str) -> Comparison:
        values = [np.array([getattr(each, measure) for each in group]) for group in groups]
        if len(values) > 1:
            values = [array / (array.std() or 1.0) for array in values]
        own, baseline = np.concatenate(values).T
        difference = summarise([own - baseline]).mean
        return Comparison(own.mean(), baseline.mean(), difference, chance(own - baseline))

    return Line(env, agent, sum(map(len, groups)), compared("area"), compared("last"))


def verdict(comparison: Comparison) -> str:
    """What a difference is: a gain, a loss, or nothing that chance does not explain."""
    if comparison.chance >= LEVEL:
        return f"chance? (p {comparison.chance:.2g})"
    return f"{'gain' if comparison.difference.value > 0 else 'loss'} (p {comparison.chance:.2g})"


COLUMNS = ("agent", "pairs", "area", "difference", "", "last", "difference", "")


def as_text(lines: Sequence[Line], baseline: str) -> list[Table]:
    """Tables for the terminal, one per environment."""
    tables: dict[str, Table] = {}
    for line in lines:
        if line.env not in tables:
            title = f"{line.env}, against {baseline}"
            table = tables[line.env] = Table(title=title, title_justify="left")
            for name in COLUMNS:
                table.add_column(name, justify="left" if name in ("agent", "") else "right")
        tables[line.env].add_row(*_cells(line))
    return list(tables.values())


def as_markdown(lines: Sequence[Line]) -> str:
    """One Markdown table."""
    return markdown(("environment", *COLUMNS), [[line.env, *_cells(line)] for line in lines])


def as_csv(lines: Sequence[Line]) -> str:
    """All numbers as CSV."""
    parts = ("", "_baseline", "_difference", "_low", "_high", "_p")
    names = [f"{measure}{part}" for measure in ("area", "last") for part in parts]
    rows = []
    for line in lines:
        numbers = [
            number
            for each in (line.area, line.last)
            for number in (each.value, each.baseline, *each.difference, each.chance)
        ]
        rows.append([line.env, line.agent, str(line.pairs), *(f"{each:.6g}" for each in numbers)])
    return comma_separated(("environment", "agent", "pairs", *names), rows)


def _cells(line: Line) -> list[str]:
    enough = line.pairs >= MIN_SEEDS
    cells = [line.agent, str(line.pairs)]
    for each in (line.area, line.last):
        value = Estimate(each.value, each.value, each.value)
        shown = "" if line.env == ALL else format_estimate(value, interval=False)
        cells += [shown, format_estimate(each.difference, interval=enough), verdict(each)]
    return cells


LEGEND = (
    "Runs of the same environment and seed are compared over the steps that both have. The "
    "area is the mean return over these steps, the last value a score as without --against. "
    "In brackets 95% bootstrap intervals of the mean difference, where there are at least "
    f"{MIN_SEEDS} pairs; p is how often chance alone gives a difference this large (a sign- "
    "flip test, whose p is at least 2 over 2 to the number of pairs). Over all environments, "
    "differences are in units of the spread in each."
)
