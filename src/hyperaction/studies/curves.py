"""Published learning curves, and the tables that they are kept in."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Published(NamedTuple):
    """The returns of an agent in an environment, phase by phase, with their spread over seeds."""

    agent: str
    steps: NDArray[np.int64]
    mean: NDArray[np.float64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]


def find_curve(table: list[list[str]], environment: str, agent: str) -> Published | None:
    """The curve of an agent in an environment, from a table with a line for each of its numbers."""
    (_, _, _, *header), *rows = table
    found = {row[2]: numbers(row[3:]) for row in rows if row[:2] == [environment, agent]}
    if not found:
        return None
    steps = np.array([int(step) for step in header])
    return Published(agent, steps, **found)


@cache
def read_table(package: str, name: str) -> list[list[str]]:
    """The lines of a file of a package, but for those that say where it is from."""
    text = (files(package) / name).read_text()
    return list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))


def numbers(row: list[str]) -> NDArray[np.float64]:
    """Text as numbers."""
    return np.array([float(value) for value in row])
