"""What a run measured as curves, over steps and over time, and their means over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.report.runs import RunData
from hyperaction.report.statistics import mean_curve

Numbers = NDArray[np.float64]

RETURN = "return"

NAMES = {
    "return": "return in training",
    "length": "episode length in training",
    "steps_per_second": "steps per second",
}
"""What the page calls metrics of training that have other names in the file."""

NOT_SHOWN = ("kind", "step", "episodes", "lowest", "highest")
MAX_METRICS = 30

AXES = ("step", "time")

MIN_SPEED = 1e-9
"""Steps per second below which a phase says nothing about time."""


class Series(NamedTuple):
    """The values of one metric of a run."""

    steps: NDArray[np.int64]
    values: Numbers

    def over(self, axis: str, run: RunData) -> tuple[Any, Numbers] | None:
        """Its points over steps, or over the seconds of training, where these are known."""
        if axis == "step":
            return self.steps, self.values
        seconds = seconds_at(run, self.steps)
        return None if seconds is None else (seconds, self.values)


def series_of(run: RunData) -> dict[str, Series]:
    """The returns of a run, first, and what else it measured in training, by name."""
    found = {}
    if len(run.points[0]):
        found[RETURN] = Series(*run.points)
    names = dict.fromkeys(name for row in run.phases for name in row if name not in NOT_SHOWN)
    for name in names:
        if name == RETURN and run.evaluations and run.evaluations[0] in run.phases:
            continue  # These are the returns already.
        rows = [row for row in run.phases if np.isfinite(row.get(name, np.nan))]
        if rows and len(found) < MAX_METRICS:
            steps = np.array([row["step"] for row in rows], np.int64)
            values = np.array([row[name] for row in rows], np.float64)
            found[NAMES.get(name, name)] = Series(steps, values)
    return found


def seconds_at(run: RunData, steps: Sequence[int] | NDArray[np.int64]) -> Numbers | None:
    """The seconds of training before each step; none if a phase does not say how long it took.

    Evaluations, and the time in which a run was stopped, do not count.
    """
    speeds = np.array([row.get("steps_per_second", np.nan) for row in run.phases], np.float64)
    if not len(speeds) or not np.all(np.isfinite(speeds) & (speeds > MIN_SPEED)):
        return None
    ends = np.array([0, *(row["step"] for row in run.phases)], np.float64)
    times = np.concatenate([[0.0], np.cumsum(np.diff(ends) / speeds)])
    return np.interp(np.asarray(steps, np.float64), ends, times)


def as_json(run: RunData) -> dict[str, Any]:
    """Every series of a run, ready for JSON."""
    found = {}
    for name, series in series_of(run).items():
        seconds = seconds_at(run, series.steps)
        found[name] = {
            "step": series.steps.tolist(),
            "time": None if seconds is None else rounded(seconds),
            "value": rounded(series.values),
        }
    return found


def means(runs: Sequence[RunData], labels: Mapping[Path, str]) -> list[dict[str, Any]]:
    """The mean over seeds of each metric of each agent in each environment, on either axis.

    On the axis of time there is one where every seed has its time.
    """
    groups: dict[tuple[str, str, str], list[tuple[RunData, Series]]] = {}
    for run in runs:
        for metric, series in series_of(run).items():
            groups.setdefault((run.config["env"], labels[run.out], metric), []).append(
                (run, series)
            )
    found = []
    for (env, agent, metric), seeds in groups.items():
        for axis in AXES:
            points = [series.over(axis, run) for run, series in seeds]
            known = [each for each in points if each is not None]
            if len(known) < len(points):
                continue
            curve = mean_curve(known)
            found.append(
                {"env": env, "agent": agent, "metric": metric, "axis": axis}
                | {"x": rounded(curve.steps), "seeds": curve.seeds.tolist()}
                | {"mean": rounded(curve.mean)}
                | {"low": rounded(curve.low), "high": rounded(curve.high)}
            )
    return found


def rounded(values: Any) -> list[float]:
    """Numbers of seven digits at most, which is what a chart can show."""
    return [value if isinstance(value, int) else float(f"{value:.7g}") for value in values.tolist()]
