"""Runs beside published curves: tables, counts and a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from hyperaction.report.drawing import save


class Spread(Protocol):
    """A published curve, with its spread over seeds."""

    @property
    def agent(self) -> str:
        """Its name."""
        ...

    @property
    def steps(self) -> NDArray[np.int64]:
        """Where it was measured."""
        ...

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean return."""
        ...

    @property
    def minimum(self) -> NDArray[np.float64]:
        """The lowest return."""
        ...

    @property
    def maximum(self) -> NDArray[np.float64]:
        """The highest return."""
        ...


class Curve(NamedTuple):
    """A run's results, one for each phase."""

    name: str
    env: str
    steps: NDArray[np.int64]
    returns: NDArray[np.float64]


class Group(NamedTuple):
    """Runs in one domain and what was published for their agent there, if anything was."""

    env: str
    curves: list[Curve]
    published: Spread | None

    @property
    def title(self) -> str:
        """What the group is about."""
        return f"{self.env}, {self.published.agent if self.published else 'nothing published'}"


def grouped(curves: Sequence[tuple[Curve, Spread | None]]) -> list[Group]:
    """Runs that are set beside the same published curve, together."""
    groups: dict[tuple[str, str], Group] = {}
    for curve, spread in curves:
        key = (curve.env, spread.agent if spread else "")
        groups.setdefault(key, Group(curve.env, [], spread)).curves.append(curve)
    return list(groups.values())


def table(group: Group, rows: int) -> Table:
    """A group's evaluations at up to so many steps, spread over the longest run."""
    found = Table(title=group.title)
    found.add_column("steps", justify="right", overflow="fold")
    for curve in group.curves:
        found.add_column(curve.name, justify="right", overflow="fold")
    for name in ("mean", "minimum", "maximum") if group.published else ():
        found.add_column(f"published {name}", justify="right", style="dim", overflow="fold")
    longest = max(group.curves, key=lambda curve: int(curve.steps[-1])).steps
    wanted = np.unique(np.linspace(0, len(longest) - 1, min(rows, len(longest))).astype(int))
    for step in longest[wanted]:
        cells = [f"{step:,}"]
        for curve in group.curves:
            nearest = int(np.abs(curve.steps - step).argmin())
            near = abs(int(curve.steps[nearest]) - int(step)) < half_a_phase(longest)
            cells.append(_number(curve.returns[nearest]) if near else "")
        if group.published is not None:
            cells += [_number(value) for value in at(group.published, step)]
        found.add_row(*cells)
    return found


def inside(curve: Curve, spread: Spread) -> dict[str, int]:
    """How many of a run's evaluations are within the published spread, above and below it."""
    _, low, high = at(spread, curve.steps)
    above, below = curve.returns > high, curve.returns < low
    inside = (curve.returns >= low) & (curve.returns <= high)
    return {"inside": int(inside.sum()), "above": int(above.sum()), "below": int(below.sum())}


def sentence(curve: Curve, spread: Spread) -> str:
    """Where a run lies, in words."""
    counts = inside(curve, spread)
    if not sum(counts.values()):
        first, last = spread.steps[0], spread.steps[-1]
        return f"{curve.name}: no result at the published steps, {first:,} to {last:,}"
    mean = at(spread, curve.steps[-1:])[0][0]
    return (
        f"{curve.name}: {counts['inside']} of {sum(counts.values())} phases between the "
        f"published minimum and maximum, {counts['above']} above, {counts['below']} below; the "
        f"last {_number(curve.returns[-1])}, published mean {_number(mean)}"
    )


def draw(groups: Sequence[Group], file: Path) -> Path:
    """Draws every group in a panel of its own."""
    from matplotlib.figure import Figure

    columns = min(len(groups), 3)
    lines = math.ceil(len(groups) / columns)
    figure = Figure(figsize=(4.2 * columns, 3.2 * lines), layout="constrained")
    for place, group in enumerate(groups):
        axes = figure.add_subplot(lines, columns, place + 1)
        last = max(int(curve.steps[-1]) for curve in group.curves)
        if (spread := group.published) is not None:
            shown = spread.steps <= last + half_a_phase(spread.steps)
            band = (spread.minimum[shown], spread.maximum[shown])
            axes.fill_between(spread.steps[shown], *band, color="0.85", label="published range")
            axes.plot(spread.steps[shown], spread.mean[shown], color="0.45", label="published mean")
        for curve in group.curves:
            axes.plot(curve.steps, curve.returns, label=curve.name, linewidth=1.6)
        axes.set_title(group.title, fontsize=9)
        axes.set_xlabel("environment steps")
        axes.set_ylabel("return")
        axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k")
        axes.legend(fontsize=7, framealpha=0.7, edgecolor="none")
    return save(figure, file)


def at(spread: Spread, steps: Any) -> tuple[Any, Any, Any]:
    """The published mean, minimum and maximum of the phases that end nearest to these steps.

    A phase ends with an episode, a little later than it should; where none is near, there is
    nothing.
    """
    nearest = np.abs(spread.steps - np.asarray(steps)[..., None]).argmin(axis=-1)
    near = np.abs(spread.steps[nearest] - steps) <= half_a_phase(spread.steps)
    mean, low, high = (
        np.where(near, values[nearest], np.nan)
        for values in (spread.mean, spread.minimum, spread.maximum)
    )
    return mean, low, high


def half_a_phase(steps: NDArray[np.int64]) -> float:
    """Half of what lies between the ends of two phases: what is nearer than that is compared."""
    return float(np.median(np.diff(steps, prepend=0))) / 2


def _number(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
