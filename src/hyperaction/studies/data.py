"""Tables of published results, stored as CSV files in the packages of the studies."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hyperaction.report.curves import PublishedCurve


def find_curve(table: list[list[str]], env: str, agent: str) -> PublishedCurve | None:
    """The curve of an agent in an environment, from a table with a row per statistic."""
    (_, _, _, *header), *rows = table
    statistics = {row[2]: numbers(row[3:]) for row in rows if row[:2] == [env, agent]}
    if not statistics:
        return None
    steps = np.array([int(step) for step in header])
    return PublishedCurve(agent, steps, **statistics)


def find_curves(table: list[list[str]], env: str) -> list[PublishedCurve]:
    """The curves of all agents in an environment."""
    agents = dict.fromkeys(row[1] for row in table[1:] if row[0] == env)
    curves = [find_curve(table, env, agent) for agent in agents]
    return [curve for curve in curves if curve is not None]


@cache
def read_table(package: str, name: str) -> list[list[str]]:
    """The rows of a CSV file of a package, without its comment lines."""
    text = (files(package) / name).read_text()
    return list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))


def numbers(row: list[str]) -> NDArray[np.float64]:
    """The cells of a row as numbers."""
    return np.array([float(value) for value in row])
