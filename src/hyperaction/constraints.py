"""Which joint actions are allowed, whatever the agent: tables over some vertices, and counts.

A constraint knows the vertices that it is about, and nothing of an agent's hyperedges. Those that
hold in every state are part of `Constraints`. Those that change from state to state are a *mask*:
one flat row of booleans per state, first one for every sub-action of every vertex, then the tables
of the *scopes*, the groups of vertices that are masked together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.errors import unknown

Scope = tuple[int, ...]
"""Vertices, in increasing order."""

Tables = dict[Scope, NDArray[np.bool_]]
"""What is allowed of each scope: an axis per vertex, true where allowed."""


@dataclass(frozen=True)
class Cardinality:
    """How many vertices may have another sub-action than their default.

    Args:
        at_most: The most of them; None for any number.
        at_least: The fewest of them.
        vertices: The vertices that count, by number or name; None for all.
        default: Their default sub-action, or one for each.
    """

    at_most: int | None = None
    at_least: int = 0
    vertices: tuple[int | str, ...] | None = None
    default: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        for name in ("vertices", "default"):
            given = getattr(self, name)
            if isinstance(given, list):
                object.__setattr__(self, name, tuple(given))
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


@dataclass(frozen=True)
class Constraints:
    """What is known of the constraints on an action space before any state is seen.

    Args:
        sizes: The number of sub-actions of each vertex.
        scopes: The groups of two vertices or more that masks have a table of.
        fixed: Tables that hold in every state, as bytes.
        cardinalities: Counts that hold in every state, their vertices as numbers.
    """

    sizes: tuple[int, ...]
    scopes: tuple[Scope, ...] = ()
    fixed: tuple[tuple[Scope, bytes], ...] = ()
    cardinalities: tuple[Cardinality, ...] = ()

    @classmethod
    def of(
        cls, sizes: Sequence[int], given: Any = (), names: Sequence[str] | None = None
    ) -> Constraints:
        """Constraints that hold in every state: cardinalities, tables as masks have them, or both.

        Args:
            sizes: The number of sub-actions of each vertex.
            given: A cardinality, a mask, or several of either.
            names: The names of the vertices, if they have any.
        """
        constraints = cls(tuple(int(size) for size in sizes))
        several = given if isinstance(given, list | tuple) else (given,)
        if several and not any(isinstance(one, Cardinality | Mapping) for one in several):
            several = (given,)  # One mask, a row for each vertex.
        for one in several:
            if isinstance(one, Cardinality):
                known = constraints.cardinalities
                counted = checked_cardinality(one, constraints.sizes, names)
                constraints = replace(constraints, cardinalities=(*known, counted))
            else:
                tables = tables_of(one, constraints.sizes, names)
                fixed = tuple((scope, table.tobytes()) for scope, table in tables.items())
                constraints = replace(constraints, fixed=(*constraints.fixed, *fixed))
        return constraints

    @cached_property
    def _hash(self) -> int:
        return hash((self.sizes, self.scopes, self.fixed, self.cardinalities))

    def __hash__(self) -> int:
        return self._hash  # Stored: compiled programs are looked up by it at every call.

    @property
    def always(self) -> bool:
        """Whether anything is forbidden in every state."""
        return bool(self.fixed or self.cardinalities)

    @cached_property
    def fixed_tables(self) -> list[tuple[Scope, NDArray[np.bool_]]]:
        """The tables that hold in every state."""
        return [
            (scope, np.frombuffer(table, bool).reshape([self.sizes[v] for v in scope]))
            for scope, table in self.fixed
        ]

    @cached_property
    def starts(self) -> dict[Scope, int]:
        """Where the table of each scope starts in a mask, single vertices first."""
        scopes = [*((vertex,) for vertex in range(len(self.sizes))), *self.scopes]
        lengths = [math.prod(self.sizes[v] for v in scope) for scope in scopes]
        stops = np.cumsum([0, *lengths])
        return dict(zip(scopes, map(int, stops[:-1]), strict=True))

    @cached_property
    def num_entries(self) -> int:
        """The length of a mask."""
        return sum(math.prod(self.sizes[v] for v in scope) for scope in self.starts)

    def row(self, tables: Tables) -> NDArray[np.bool_]:
        """The mask of a state, from the tables that are given in it."""
        row = np.ones(self.num_entries, bool)
        for scope, table in tables.items():
            start = self.starts[scope]
            row[start : start + table.size] = table.ravel()
        return row

    def allows(
        self, actions: NDArray[Any], masks: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Whether each action, `[n, vertices]`, is allowed, given a mask for each if there are."""
        allowed = np.ones(len(actions), bool)
        for scope, table in self.fixed_tables:
            allowed &= table[tuple(actions[:, scope].T)]
        for counted in self.cardinalities:
            others = actions[:, counted.scope()] != np.array(counted.defaults(), int)
            allowed &= counted.holds(others.sum(axis=1))
        if masks is not None:
            for scope, start in self.starts.items():
                shape = [self.sizes[v] for v in scope]
                entry = start + np.ravel_multi_index(tuple(actions[:, scope].T), shape)
                allowed &= masks[np.arange(len(actions)), entry]
        return allowed

    def listed(self, limit: int) -> NDArray[np.int32] | None:
        """All joint actions that are allowed in every state, or None where they exceed a limit."""
        actions = np.zeros((1, 0), np.int32)
        for vertex, size in enumerate(self.sizes):
            if len(actions) * size > limit * max(self.sizes):
                return None
            column = np.tile(np.arange(size, dtype=np.int32), len(actions))
            actions = np.column_stack([np.repeat(actions, size, axis=0), column])
            actions = actions[self._may_continue(actions, vertex)]
            if len(actions) > limit:
                return None
        return actions

    def _may_continue(self, actions: NDArray[np.int32], last: int) -> NDArray[np.bool_]:
        """Whether actions of the first vertices break no constraint yet."""
        fine = np.ones(len(actions), bool)
        for scope, table in self.fixed_tables:
            if max(scope) == last:
                fine &= table[tuple(actions[:, scope].T)]
        for counted in self.cardinalities:
            pairs = zip(counted.scope(), counted.defaults(), strict=True)
            known = [(vertex, default) for vertex, default in pairs if vertex <= last]
            counts = sum((actions[:, v] != default).astype(int) for v, default in known)
            missing = len(counted.scope()) - len(known)
            most = math.inf if counted.at_most is None else counted.at_most
            fine &= (counts <= most) & (counts + missing >= counted.at_least)
        return fine


@dataclass(frozen=True, eq=False)
class Mask:
    """What is allowed in some states: a row of the constraints' entries for each of them.

    Without rows, only what the constraints say of every state. In compiled code it is a pytree.
    """

    rows: Any
    constraints: Constraints

    def __getitem__(self, index: Any) -> Mask:
        return self if self.rows is None else Mask(self.rows[index], self.constraints)

    @property
    def length(self) -> int | None:
        """The entries of a row, if there are rows."""
        return None if self.rows is None else int(self.rows.shape[-1])


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


def vertex_of(given: Any, count: int, names: Sequence[str] | None = None) -> int:
    """A vertex by number or name."""
    known = [str(number) for number in range(count)] if names is None else list(names)
    if isinstance(given, str):
        if given in known:
            return known.index(given)
        if given.isdigit() and int(given) < count:
            return int(given)
        raise ValueError(unknown("vertex", given, known))
    if isinstance(given, int | np.integer) and 0 <= given < count:
        return int(given)
    raise ValueError(f"there is no vertex {given}; there are {count}, counted from 0")


def tables_of(
    given: Any,
    sizes: Sequence[int],
    names: Sequence[str] | None = None,
    *,
    is_discrete: bool = False,
) -> Tables:
    """The tables that a mask has, in any form that it may be given in.

    Args:
        given: A row with an entry per sub-action of all vertices; a row for each vertex, in a tuple
            or stacked; an array over all joint actions, an axis per vertex or flat; or a dictionary
            from vertices, by number or name, to arrays over their sub-actions.
        sizes: The number of sub-actions of each vertex.
        names: The names of the vertices, if they have any.
        is_discrete: Whether the action space is one `Discrete`, whose own masks have an entry per
            joint action.
    """
    if isinstance(given, Mapping):
        return _of_mapping(given, sizes, names)
    shape = tuple(sizes)
    every = tuple(range(len(shape)))
    ragged = isinstance(given, list | tuple) and len({np.size(part) for part in given}) > 1
    if ragged or (isinstance(given, tuple) and len(given) == len(shape)):
        return _of_rows(given, shape)
    array = _booleans(given)
    stacked = len(set(shape)) == 1 and array.shape == (len(shape), shape[0])
    if array.shape == shape and stacked and len(shape) > 1:
        raise ValueError(
            f"the mask of shape {array.shape} may be one over joint actions or a row for each "
            f"vertex; give a tuple of rows, or {{(0, 1): mask}}"
        )
    if stacked:
        return _of_rows(array, shape)
    per_vertex = array.ndim == 1 and array.size == sum(shape)
    is_joint = array.shape == shape or (array.ndim == 1 and array.size == math.prod(shape))
    if is_joint and (is_discrete or not per_vertex):
        return {every: array.reshape(shape)}
    if per_vertex:
        return _of_rows(np.split(array, np.cumsum(shape)[:-1]), shape)
    raise ValueError(
        f"the mask has shape {array.shape}; give a row of {sum(shape)}, one per sub-action, a "
        f"tuple of rows, an array of shape {shape} over joint actions, or a dictionary from "
        f"vertices to arrays, such as {{(0, 1): mask}}"
    )


def _of_mapping(
    given: Mapping[Any, Any], sizes: Sequence[int], names: Sequence[str] | None
) -> Tables:
    tables: Tables = {}
    for key, value in given.items():
        parts = key.split(",") if isinstance(key, str) and key not in (names or ()) else key
        several = parts if isinstance(parts, list | tuple) else (parts,)
        vertices = [vertex_of(vertex, len(sizes), names) for vertex in several]
        if not vertices or len(set(vertices)) < len(vertices):
            raise ValueError(f"the mask of {key!r} must be about one vertex or several different")
        shape = tuple(sizes[vertex] for vertex in vertices)
        array = _booleans(value)
        if array.shape != shape and not (array.ndim == 1 and array.size == math.prod(shape)):
            raise ValueError(f"the mask of {key!r} has shape {array.shape}; it must be {shape}")
        order = np.argsort(vertices)
        table = array.reshape(shape).transpose(order)
        scope = tuple(int(vertices[i]) for i in order)
        tables[scope] = tables[scope] & table if scope in tables else table
    return tables


def _of_rows(rows: Iterable[Any], sizes: Sequence[int]) -> Tables:
    tables: Tables = {}
    parts = list(rows)
    if len(parts) != len(sizes):
        raise ValueError(f"the mask has {len(parts)} rows; there are {len(sizes)} vertices")
    for vertex, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        if part is None:  # As in Gymnasium: all is allowed.
            continue
        row = _booleans(part)
        if row.shape != (size,):
            raise ValueError(
                f"the mask of vertex {vertex} has shape {row.shape}; it must be ({size},)"
            )
        tables[(vertex,)] = row
    return tables


def _booleans(given: Any) -> NDArray[np.bool_]:
    try:
        array = np.asarray(given)
    except Exception:  # Of any object: a ragged list is no array.
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise ValueError("the mask must hold zeros and ones")
    return array.astype(bool)
