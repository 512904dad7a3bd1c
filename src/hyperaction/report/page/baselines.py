"""What runs are compared with: random actions, published curves, and results of the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hyperaction.errors import SettingError
from hyperaction.report.curves import PublishedCurve
from hyperaction.report.runs import RunData
from hyperaction.runs.reader import read_json
from hyperaction.runs.schema import (
    FINITE,
    MAX_STEP,
    TEXT,
    UnreadableError,
    is_finite,
    is_list,
    short,
)

FILE = "baselines.json"
"""Baselines in the directory of a run, or in a directory that the page is about."""

MAX_BASELINES = 40


class Published(NamedTuple):
    """What was published for the environment of a run."""

    same: str = ""
    """The published agent that the run's agent is; empty if none is."""
    curves: Sequence[PublishedCurve] = ()
    scores: Mapping[str, float] = {}
    """Returns of random actions and of people, by name."""


FindPublished = Callable[[dict[str, Any]], Published]
"""Finds it, given the settings of a run."""


class Baseline(NamedTuple):
    """A return, or returns over steps, that the runs of an environment are compared with."""

    env: str
    """Its environment; empty for every one."""
    name: str
    steps: Sequence[int]
    """Empty for one return at all steps."""
    returns: Sequence[float]
    same_as: str = ""
    """The agent of the page that this is the published curve of."""
    is_shown: bool = True
    """Whether the page draws it unasked."""

    def as_json(self) -> dict[str, Any]:
        """It as a table, ready for JSON."""
        return {**self._asdict(), "steps": list(self.steps), "returns": list(self.returns)}


def parsed(given: Iterable[str]) -> list[Baseline]:
    """Baselines as they are typed, NAME=VALUE, for every environment."""
    found = []
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        if not name.strip() or not is_finite(number):
            raise SettingError(f"`baseline` must be NAME=RETURN, such as random=22, not {text!r}")
        found.append(Baseline("", name.strip(), (), (number,)))
    return found


def read(folders: Iterable[tuple[Path, str]]) -> tuple[list[Baseline], list[str]]:
    """The baselines in directories, each with its environment or none, and what is wrong."""
    found: list[Baseline] = []
    problems: list[str] = []
    for folder, env in folders:
        file = folder / FILE
        if not os.path.lexists(file):
            continue
        try:
            content = read_json(file, _table)
            found += _of_table(content, env)
        except UnreadableError as error:
            problems.append(str(error))
    return list(dict.fromkeys(found))[:MAX_BASELINES], problems


def _table(content: Any) -> dict[str, Any]:
    """A table of baselines, or of such tables by environment."""
    if not isinstance(content, dict):
        raise UnreadableError(f"it holds {short(content)}, not a table")
    for name, value in content.items():
        if not TEXT.fits(name):
            raise UnreadableError(f"{short(name)} is not a name")
        if isinstance(value, dict) and not _is_curve(value):
            if not all(TEXT.fits(one) for one in value):
                raise UnreadableError(f"{name} has an empty name, or one that is too long")
            wrong = [one for one, inner in value.items() if not _is_baseline(inner)]
            if wrong:
                raise UnreadableError(f"{wrong[0]} of {name} is neither a return nor a curve")
        elif not _is_baseline(value):
            raise UnreadableError(f"{name} is {short(value)}, neither a return nor a curve")
    return content


def _is_baseline(value: Any) -> bool:
    return FINITE.fits(value) or _is_curve(value)


def _is_curve(value: Any) -> bool:
    """Whether a value is a table with increasing steps and as many returns."""
    if not isinstance(value, dict) or set(value) != {"steps", "returns"}:
        return False
    steps, returns = value["steps"], value["returns"]
    right = is_list(steps, is_finite) and is_list(returns, is_finite)
    return right and 0 < len(steps) == len(returns) and bool(np.all(np.diff(steps) > 0))


def _of_table(content: Mapping[str, Any], env: str) -> list[Baseline]:
    found = []
    for name, value in content.items():
        if isinstance(value, dict) and not _is_curve(value):
            found += _of_table(value, name)
        elif isinstance(value, dict):
            found.append(Baseline(env, name, tuple(value["steps"]), tuple(value["returns"])))
        else:
            found.append(Baseline(env, name, (), (float(value),)))
    return found


def random_actions(runs: Sequence[RunData]) -> list[Baseline]:
    """The mean return of each environment's episodes in which all actions were random.

    Such are those before the first update, while epsilon is 1.
    """
    returns: dict[str, list[tuple[int, float]]] = {}
    for run in runs:
        for row in run.phases:
            if row.get("epsilon") != 1 or "loss" in row:
                break
            episodes, value = row.get("episodes", 0), row.get("return", np.nan)
            if 0 < episodes < MAX_STEP and np.isfinite(value):
                returns.setdefault(run.config["env"], []).append((int(episodes), value))
    found = []
    for env, pairs in returns.items():
        count = sum(episodes for episodes, _ in pairs)
        mean = sum(episodes * value for episodes, value in pairs) / count
        name = f"random actions ({count:,} episode{'s' if count > 1 else ''})"
        found.append(Baseline(env, name, (), (float(f"{mean:.7g}"),)))
    return found


def published_results(
    runs: Sequence[RunData], labels: Mapping[Path, str], find: FindPublished
) -> list[Baseline]:
    """What was published for the environments of runs; curves of the same agents are shown."""
    found: dict[tuple[str, str], Baseline] = {}
    for run in runs:
        env = run.config["env"]
        published = find(run.config)
        for name, value in published.scores.items():
            found.setdefault((env, name), Baseline(env, name, (), (value,), is_shown=False))
        for curve in published.curves:
            same = labels[run.out] if curve.agent == published.same else ""
            name = f"published {curve.agent}"
            before = found.get((env, name))
            if before is None or (same and not before.same_as):
                steps, returns = curve.steps.tolist(), curve.mean.tolist()
                found[env, name] = Baseline(env, name, steps, returns, same, bool(same))
    return list(found.values())
