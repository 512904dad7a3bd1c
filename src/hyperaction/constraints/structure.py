"""What is known of constraints before any state is seen, and masks, which are of one state each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperaction.constraints.cardinality import Cardinality, checked_cardinality, parsed
from hyperaction.constraints.tables import Scope, Tables, tables_of

NoAction = Literal["stop", "default", "ignore"]
"""Where a mask leaves no action: stop, take sub-action 0 of every vertex, or ignore the mask."""


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
            given: A cardinality, a mask, either as the command line writes it ("at most 2"), or
                several; or constraints.
            names: The names of the vertices, if they have any.
        """
        if isinstance(given, Constraints):
            return given
        constraints = cls(tuple(int(size) for size in sizes))
        several = given if isinstance(given, list | tuple) else (given,)
        if several and not any(isinstance(one, Cardinality | Mapping | str) for one in several):
            several = (given,)  # One mask, a row for each vertex.
        several = [parsed(one) if isinstance(one, str) else one for one in several]
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

    def described(self) -> list[dict[str, Any]]:
        """What holds in every state, ready for JSON."""
        tables = [
            {"vertices": list(scope), "allowed": t.tolist()} for scope, t in self.fixed_tables
        ]
        counts = [
            {
                "vertices": list(one.scope()),
                "default": list(one.defaults()),
                "at_least": one.at_least,
                "at_most": one.at_most,
            }
            for one in self.cardinalities
        ]
        return [*tables, *counts]

    @classmethod
    def restored(cls, sizes: Sequence[int], described: Sequence[dict[str, Any]]) -> Constraints:
        """The constraints that were described."""
        given: list[Any] = []
        for one in described:
            vertices = tuple(one["vertices"])
            if "allowed" in one:
                given.append({vertices: one["allowed"]})
            else:
                default = tuple(one["default"])
                given.append(Cardinality(one["at_most"], one["at_least"], vertices, default))
        return cls.of(sizes, given)

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
