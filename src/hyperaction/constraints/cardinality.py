"""Counts: how many vertices may have another sub-action than their default."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperaction.constraints.tables import Scope, vertex_of


@dataclass(frozen=True)
class Cardinality:
    """How many vertices may have another sub-action than their default.

    Args:
        at_most: The most of them; None for any number.
        at_least: The fewest of them.
        vertices: The vertices that count, by number or name ("power,fire"); None for all.
        default: Their default sub-action, or one for each.
    """

    at_most: int | None = None
    at_least: int = 0
    vertices: tuple[int | str, ...] | str | None = None
    default: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        for name in ("vertices", "default"):
            given = getattr(self, name)
            if isinstance(given, list):
                object.__setattr__(self, name, tuple(given))
        if isinstance(self.vertices, str):
            object.__setattr__(self, "vertices", tuple(self.vertices.split(",")))
        for name in ("at_most", "at_least"):
            count = getattr(self, name)
            if count is not None and not isinstance(count, int | np.integer):
                raise ValueError(f"{name} must be a whole number, not {count!r}")
        most = math.inf if self.at_most is None else self.at_most
        if not 0 <= self.at_least <= most:
            raise ValueError(
                f"a cardinality of at_least={self.at_least} and at_most={self.at_most} allows "
                f"nothing; at_least must be from 0 to at_most"
            )

    @property
    def largest(self) -> int:
        """The largest count that is told from larger ones."""
        return self.at_least if self.at_most is None else self.at_most

    def scope(self) -> Scope:
        """The vertices as numbers, once they are known."""
        assert self.vertices is not None
        return tuple(int(vertex) for vertex in self.vertices)

    def defaults(self) -> tuple[int, ...]:
        """The default of each vertex."""
        count = len(self.scope())
        return self.default if isinstance(self.default, tuple) else (self.default,) * count

    def holds(self, counts: Any) -> Any:
        """Whether counts are within the limits."""
        most = math.inf if self.at_most is None else self.at_most
        return (counts >= self.at_least) & (counts <= most)

    def __str__(self) -> str:
        of = "" if self.vertices is None else f" of {','.join(map(str, self.vertices))}"
        at = "" if self.default == 0 else f" default {_joined(self.default)}"
        if self.at_most is None:
            return f"at least {self.at_least}{of}{at}"
        if self.at_least == self.at_most:
            return f"exactly {self.at_most}{of}{at}"
        least = f"at least {self.at_least} and " if self.at_least else ""
        return f"{least}at most {self.at_most}{of}{at}"


def _joined(default: int | tuple[int, ...]) -> str:
    return ",".join(map(str, np.ravel(default)))


def checked_cardinality(
    given: Cardinality, sizes: Sequence[int], names: Sequence[str] | None = None
) -> Cardinality:
    """A cardinality with its vertices as numbers, in order."""
    vertices = range(len(sizes)) if given.vertices is None else given.vertices
    numbers = [vertex_of(vertex, len(sizes), names) for vertex in vertices]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"the cardinality '{given}' names a vertex twice")
    if not numbers or (given.at_least > len(numbers)):
        raise ValueError(f"the cardinality '{given}' has {len(numbers)} vertices to count")
    defaults = (
        given.default if isinstance(given.default, tuple) else (given.default,) * len(numbers)
    )
    if len(defaults) != len(numbers):
        raise ValueError(
            f"the cardinality '{given}' has {len(defaults)} defaults for {len(numbers)} vertices"
        )
    for vertex, default in zip(numbers, defaults, strict=True):
        if not 0 <= default < sizes[vertex]:
            raise ValueError(
                f"the default {default} of vertex {vertex} must be from 0 to {sizes[vertex] - 1}"
            )
    order = np.argsort(numbers)
    most = given.at_most if given.at_most is None else min(given.at_most, len(numbers))
    return Cardinality(
        most,
        given.at_least,
        tuple(int(numbers[i]) for i in order),
        tuple(int(defaults[i]) for i in order),
    )


_PHRASE = re.compile(
    r"(?:at[ -]least (?P<least>\d+))?(?: and )?(?:at[ -]most (?P<most>\d+))?"
    r"(?:exactly (?P<exactly>\d+))?(?: of (?P<vertices>\S+))?(?: default (?P<default>[\d,]+))?"
)


def parsed(text: str) -> Cardinality | dict[str, Any]:
    """A constraint as the command line has it.

    Args:
        text: `at most 2`, `at least 1 and at most 3 of power,fire`, `exactly 1 default 4`; or JSON
            that maps vertices to tables, `{"power,fire": [[1, 0], [1, 1]]}`.
    """
    if text.lstrip().startswith("{"):
        tables: dict[str, Any] = json.loads(text)
        return tables
    found = _PHRASE.fullmatch(" ".join(text.split()))
    if found is None or not any(found[name] for name in ("least", "most", "exactly")):
        raise ValueError(
            f"'{text}' is no constraint; write 'at most 2', 'at least 1 of power,fire', 'exactly "
            f"1', or the name of a .json file that maps vertices to tables"
        )
    exactly = found["exactly"]
    most = int(exactly or found["most"]) if exactly or found["most"] else None
    vertices = tuple(found["vertices"].split(",")) if found["vertices"] else None
    default = tuple(map(int, found["default"].split(","))) if found["default"] else (0,)
    least = int(exactly or found["least"] or 0)
    return Cardinality(most, least, vertices, default[0] if len(default) == 1 else default)
