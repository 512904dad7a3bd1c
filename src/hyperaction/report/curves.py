"""Learning curves of runs compared with published ones: tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from hyperaction.report.statistics import (
    MeanCurve,
    Points,
    at_steps,
    common_steps,
    mean_curve,
    phase_steps,
)


class PublishedCurve(NamedTuple):
    """Published returns of an agent, one entry per phase, with their range over seeds."""

    agent: str
    steps: NDArray[np.int64]
    """The step at which each phase ends."""
    mean: NDArray[np.float64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]

    def at(self, steps: Any) -> tuple[Any, Any, Any]:
        """Mean, minimum and maximum of the phases that end nearest to these steps.

        A phase of a run ends with an episode, a little later than planned. The values are NaN where
        no published phase ends within half a phase.
        """
        nearest = np.abs(self.steps - np.asarray(steps)[..., None]).argmin(axis=-1)
        near = np.abs(self.steps[nearest] - steps) <= half_phase(self.steps)
        mean, low, high = (
            np.where(near, values[nearest], np.nan)
            for values in (self.mean, self.minimum, self.maximum)
        )
        return mean, low, high


class Curve(NamedTuple):
    """The returns of a run, one per phase."""

    name: str
    env: str
    steps: NDArray[np.int64]
    returns: NDArray[np.float64]
    agent: str
    """The label of its agent, which all its seeds have."""

    @property
    def points(self) -> Points:
        """Its steps and returns."""
        return self.steps, self.returns

    @property
    def label(self) -> str:
        """The run and its agent."""
        return f"{self.name} ({self.agent})"


class Group(NamedTuple):
    """Runs in one environment that are compared with the same published curve, if there is one."""

    env: str
    curves: list[Curve]
    published: PublishedCurve | None
    peer: PublishedCurve | None = None
    """An agent of another kind, published for the same environment."""

    @property
    def title(self) -> str:
        """The environment and the published agent."""
        return f"{self.env}, {self.published_label or 'nothing published'}"

    @property
    def published_label(self) -> str:
        """What runs are compared with; empty if nothing was published."""
        return f"published {self.published.agent}" if self.published else ""

    def means(self, steps: NDArray[np.int64] | None = None) -> dict[str, MeanCurve]:
        """The mean over the seeds of each agent that has several, at these or common steps."""
        seeds: dict[str, list[Points]] = {}
        for curve in self.curves:
            seeds.setdefault(curve.agent, []).append(curve.points)
        return {
            f"mean of {len(runs)}, {agent}": mean_curve(runs, steps)
            for agent, runs in seeds.items()
            if len(runs) > 1
        }


def group_curves(
    curves: Sequence[tuple[Curve, PublishedCurve | None]],
    peers: Mapping[str, PublishedCurve] | None = None,
) -> list[Group]:
    """Groups runs by environment and published curve; with peers by environment."""
    groups: dict[tuple[str, str], Group] = {}
    for curve, published in curves:
        key = (curve.env, published.agent if published else "")
        peer = (peers or {}).get(curve.env)
        groups.setdefault(key, Group(curve.env, [], published, peer)).curves.append(curve)
    return list(groups.values())


def table(group: Group, rows: int) -> Table:
    """The returns of a group at up to `rows` of its common steps, evenly spaced.

    A run's return between two evaluations is on the line between them.
    """
    common = common_steps([curve.points for curve in group.curves])
    steps = common[np.unique(np.linspace(0, len(common) - 1, min(rows, len(common))).astype(int))]
    columns = {curve.name: at_steps(curve.points, steps) for curve in group.curves}
    columns |= {name: curve.mean for name, curve in group.means(steps).items()}
    grid = Table(title=group.title)
    grid.add_column("steps", justify="right", overflow="fold")
    for name in columns:
        grid.add_column(name, justify="right", overflow="fold")
    for name in ("mean", "minimum", "maximum") if group.published else ():
        grid.add_column(f"published {name}", justify="right", style="dim", overflow="fold")
    published = [*group.published.at(steps)] if group.published else []
    if (peer := group.peer) is not None:
        grid.add_column(peer.agent, justify="right", style="dim", overflow="fold")
        published.append(np.interp(steps, peer.steps, peer.mean, left=np.nan, right=np.nan))
    for step, *values in zip(steps, *columns.values(), *published, strict=True):
        grid.add_row(f"{step:,}", *(format_return(value) for value in values))
    return grid


def count_inside(curve: Curve, published: PublishedCurve) -> dict[str, int]:
    """How many phases of a run are inside, above and below the published range."""
    _, low, high = published.at(curve.steps)
    above, below = curve.returns > high, curve.returns < low
    inside = (curve.returns >= low) & (curve.returns <= high)
    return {"inside": int(inside.sum()), "above": int(above.sum()), "below": int(below.sum())}


def sentence(curve: Curve, published: PublishedCurve) -> str:
    """How a run compares with a published curve."""
    counts = count_inside(curve, published)
    if not sum(counts.values()):
        first, last = published.steps[0], published.steps[-1]
        return f"{curve.label}: no result at the published steps, {first:,} to {last:,}"
    mean = published.at(curve.steps[-1:])[0][0]
    return (
        f"{curve.label}: {counts['inside']} of {sum(counts.values())} phases between the "
        f"published minimum and maximum, {counts['above']} above, {counts['below']} below; last "
        f"return {format_return(curve.returns[-1])}, published mean {format_return(mean)}"
    )


def half_phase(steps: NDArray[np.int64]) -> float:
    """Half the median distance between the ends of two phases."""
    return phase_steps(steps) / 2


def format_return(value: float) -> str:
    """A return as text; empty for NaN."""
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
