"""Programs for the compiled kernel: which vertices to condition on and which to eliminate.

To *eliminate* a vertex is to replace all tables that hold it by one message: the best they can add
up to, for every combination of its neighbours' sub-actions. It is exact, but the message grows with
the number of neighbours. To *condition* on a vertex is to try all its sub-actions one after the
other, which takes it out of every table. A program eliminates what is cheap and conditions on the
rest, so that all tables stay small enough for the processor's cache.

All tables' axes are sorted alike: conditioned vertices first, in their order, then eliminated ones,
the first to go last. So a slice at a conditioned sub-action is one contiguous block, and the
choices that an elimination maximises over stand side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.orders import (
    Graph,
    Scope,
    graph_of,
    least_fill,
    message_sizes,
    remove,
    size_of,
    smallest_table,
    table_size,
)

OVERHEAD = 12
"""What one instruction costs beside its adds, in adds."""

LARGEST_ARENA = 2**22
"""The most entries that a program's tables may have together: 256 MB for sixteen states."""

CACHED = 400
"""Entries of a table that stays in the first cache."""


def _slowdown(entries: int) -> int:
    """How much longer an add takes when its table leaves the first, second or third cache."""
    limits = (CACHED, 10 * CACHED, 100 * CACHED)
    return 2 ** sum(entries > limit for limit in limits)


class TooCostlyError(Exception):
    """The program would cost more than the budget."""


@dataclass(frozen=True)
class Step:
    """A vertex that goes: conditioned on, or eliminated."""

    vertex: int
    conditions: bool


class Found(NamedTuple):
    """A program: its steps, its cost in adds per state, and the entries of all its tables."""

    steps: tuple[Step, ...]
    cost: float
    arena: int


def best_steps(hypergraph: Hypergraph, budget: float) -> Found | None:
    """The cheapest program found, or None past the budget."""
    best: Found | None = None
    tried: set[tuple[Step, ...]] = set()
    for choose in (smallest_table, least_fill):
        largest = math.inf
        for limit in (2**power for power in (62, *range(4, 17))):
            if largest <= limit < 2**62:
                break  # All tables are within the limit, as without one.
            bound = budget if best is None else min(budget, best.cost)
            try:
                steps = _steps(hypergraph, limit, choose, bound)
                if limit == 2**62:
                    largest = max(message_sizes(hypergraph, _vertices(steps)))
                if steps in tried:
                    continue
                tried.add(steps)
                built = _Builder(hypergraph, steps, bound)
            except TooCostlyError:
                continue
            if best is None or built.cost < best.cost:
                best = Found(steps, built.cost, built.arena)
            if limit == 2**62 and largest <= CACHED:
                return best  # Nothing to gain by conditioning.
    return best


def _vertices(steps: tuple[Step, ...]) -> tuple[int, ...]:
    return tuple(step.vertex for step in steps)


def _steps(
    hypergraph: Hypergraph,
    limit: int,
    choose: Callable[[Hypergraph, Graph], int],
    budget: float,
) -> tuple[Step, ...]:
    """Eliminates while a message's table stays within the limit, else conditions."""
    graph = graph_of(hypergraph)
    steps, repeated = [], 1
    while graph:
        vertex = choose(hypergraph, graph)
        size = table_size(hypergraph, graph, vertex)
        eliminates = size <= limit
        if not eliminates:
            vertex = max(graph, key=lambda v: (len(graph[v]), hypergraph.sizes[v], -v))
            repeated *= hypergraph.sizes[vertex]
        if repeated * (size if eliminates else 1) > budget:
            raise TooCostlyError
        steps.append(Step(vertex, conditions=not eliminates))
        remove(graph, vertex, join=eliminates)
    return tuple(steps)


def order_of(steps: tuple[Step, ...]) -> tuple[int, ...]:
    """The order in which a program eliminates vertices, those it conditions on last."""
    return _vertices(tuple(sorted(steps, key=lambda step: step.conditions)))


@dataclass
class Table:
    """A table in the arena: its vertices, slowest axis first, and where it starts."""

    scope: tuple[int, ...]
    start: int


@dataclass
class Instruction:
    """`target[i] = max over choices of a[..] + b[..]`."""

    target: Table
    choices: int
    a: Table
    b: Table | None
    last: int | None  # the eliminated vertex, the last axis of a and b
    shift: int = 0  # how far one conditioned sub-action moves a


@dataclass
class Routine:
    """The instructions of one step, and the scope of its message."""

    vertex: int
    size: int
    conditions: bool
    scope: tuple[int, ...] = ()
    instructions: list[Instruction] = field(default_factory=list)


class _Builder:
    """Turns steps into instructions, and counts what they cost."""

    def __init__(self, hypergraph: Hypergraph, steps: tuple[Step, ...], budget: float) -> None:
        self.hypergraph = hypergraph
        self.budget = budget
        self.cost = 0.0
        self.adds = 0
        self.arena = 0
        self.repeated = 1
        conditioned = [step.vertex for step in steps if step.conditions]
        eliminated = [step.vertex for step in steps if not step.conditions]
        self.place = {v: i for i, v in enumerate([*conditioned, *reversed(eliminated)])}
        self.inputs = [self._table(frozenset(edge)) for edge in hypergraph.edges]
        self.tables = list(self.inputs)
        self.routines = [self._condition(s) if s.conditions else self._eliminate(s) for s in steps]
        self.routines.append(self._total())

    def _table(self, scope: Scope) -> Table:
        table = Table(tuple(sorted(scope, key=self.place.__getitem__)), self.arena)
        self.arena += size_of(self.hypergraph, scope)
        if self.arena > LARGEST_ARENA:
            raise TooCostlyError
        return table

    def _emit(
        self,
        routine: Routine,
        scope: Scope,
        a: Table,
        b: Table | None,
        *,
        last: int | None = None,
        shift: int = 0,
    ) -> Table:
        choices = 1 if last is None else self.hypergraph.sizes[last]
        count = size_of(self.hypergraph, scope)
        self.adds += self.repeated * count * choices
        self.cost += self.repeated * (count * choices * _slowdown(count * choices) + OVERHEAD)
        if self.cost > self.budget:
            raise TooCostlyError
        target = self._table(scope)
        routine.instructions.append(Instruction(target, choices, a, b, last, shift))
        return target

    def _condition(self, step: Step) -> Routine:
        routine = Routine(step.vertex, self.hypergraph.sizes[step.vertex], conditions=True)
        self.repeated *= routine.size
        holding = [table for table in self.tables if step.vertex in table.scope]
        self.tables = [table for table in self.tables if step.vertex not in table.scope]
        for table in holding:
            scope = frozenset(table.scope) - {step.vertex}
            same = [other for other in self.tables if frozenset(other.scope) == scope]
            shift = size_of(self.hypergraph, scope)
            added = self._emit(routine, scope, table, same[0] if same else None, shift=shift)
            if same:
                self.tables.remove(same[0])
            self.tables.append(added)
        return routine

    def _eliminate(self, step: Step) -> Routine:
        routine = Routine(step.vertex, self.hypergraph.sizes[step.vertex], conditions=False)
        holding = [table for table in self.tables if step.vertex in table.scope]
        self.tables = [table for table in self.tables if step.vertex not in table.scope]
        while len(holding) > 2:
            one, other = self._smallest_pair(holding)
            holding = [table for table in holding if table is not one and table is not other]
            scope = frozenset(one.scope) | frozenset(other.scope)
            holding.append(self._emit(routine, scope, one, other))
        a, b = holding[0], holding[1] if len(holding) > 1 else None
        scope = (frozenset(a.scope) | frozenset(b.scope if b else ())) - {step.vertex}
        message = self._emit(routine, scope, a, b, last=step.vertex)
        routine.scope = message.scope
        self.tables.append(message)
        return routine

    def _smallest_pair(self, tables: list[Table]) -> tuple[Table, Table]:
        """The two tables whose sum is smallest, so that few adds touch the largest table."""
        scopes = [frozenset(table.scope) for table in tables]
        # The smallest table is in some best pair often enough, and looking at all pairs is slow.
        first = min(range(len(tables)), key=lambda i: size_of(self.hypergraph, scopes[i]))
        others = [i for i in range(len(tables)) if i != first]
        second = min(
            others,
            key=lambda i: (
                size_of(self.hypergraph, scopes[first] | scopes[i]),
                size_of(self.hypergraph, scopes[i]),
            ),
        )
        return tables[first], tables[second]

    def _total(self) -> Routine:
        """Adds up what is left, numbers without a scope, last of all."""
        routine = Routine(-1, 1, conditions=False)
        total = self.tables[0]
        for table in self.tables[1:]:
            total = self._emit(routine, frozenset(), total, table)
        self.total = total
        return routine


def adds(hypergraph: Hypergraph, steps: tuple[Step, ...]) -> int:
    """The adds per state that a program makes, without what they cost beside."""
    return _Builder(hypergraph, steps, math.inf).adds


@lru_cache(maxsize=64)
def encoded(hypergraph: Hypergraph, steps: tuple[Step, ...]) -> NDArray[np.int32]:
    """The program as the kernel reads it: one flat array (see kernels/program.h)."""
    builder = _Builder(hypergraph, steps, math.inf)
    indices = _Indices(hypergraph)
    routines: list[tuple[int, ...]] = []
    instructions: list[list[int]] = []
    scopes: list[int] = []
    for routine in builder.routines:
        first, scope_first = len(instructions), len(scopes)
        for one in routine.instructions:
            instructions.append(indices.encode(one))
        for vertex in routine.scope:
            scopes += [vertex, hypergraph.sizes[vertex]]
        kind = (routine.vertex, routine.size, routine.conditions)
        routines.append((*kind, first, len(instructions), scope_first, len(scopes)))
    load = np.concatenate(
        [
            table.start + _positions(hypergraph, edge, table.scope)
            for edge, table in zip(hypergraph.edges, builder.inputs, strict=True)
        ]
    )
    header = [hypergraph.num_outputs, hypergraph.num_vertices, builder.arena]
    header += [len(routines), len(instructions), len(scopes), indices.length, builder.total.start]
    parts = [header, load, np.ravel(routines), np.ravel(instructions), scopes, *indices.arrays]
    return np.concatenate([np.asarray(part, np.int32) for part in parts])


class _Indices:
    """Where instructions find their operands, each index array kept once."""

    def __init__(self, hypergraph: Hypergraph) -> None:
        self.hypergraph = hypergraph
        self.arrays: list[NDArray[np.int32]] = []
        self.length = 0
        self.known: dict[bytes, int] = {}

    def encode(self, one: Instruction) -> list[int]:
        count = size_of(self.hypergraph, frozenset(one.target.scope))
        row = [one.target.start, count, one.choices]
        row += [one.a.start, -1 if one.shift else self._place(one, one.a), one.shift]
        row += [-1, -1] if one.b is None else [one.b.start, self._place(one, one.b)]
        return row

    def _place(self, one: Instruction, operand: Table) -> int:
        """The place of the operand's indices; -1 where they just count up."""
        scope = one.target.scope if one.last is None else (*one.target.scope, one.last)
        shape = self.hypergraph.table_shape(scope)
        grid = np.broadcast_to(
            np.arange(math.prod(self.hypergraph.table_shape(operand.scope))).reshape(
                [size if v in operand.scope else 1 for v, size in zip(scope, shape, strict=True)]
            ),
            shape,
        )
        index = np.ravel(grid if one.last is None else grid[..., 0]).astype(np.int32)
        if np.array_equal(index, np.arange(len(index)) * one.choices):
            return -1
        key = index.tobytes()
        if key not in self.known:
            self.known[key] = self.length
            self.arrays.append(index)
            self.length += len(index)
        return self.known[key]


def _positions(
    hypergraph: Hypergraph, edge: tuple[int, ...], scope: tuple[int, ...]
) -> NDArray[np.int32]:
    """Where each entry of a hyperedge's table goes when its axes are sorted as in the scope."""
    table = np.arange(math.prod(hypergraph.table_shape(edge)), dtype=np.int32)
    places = table.reshape(hypergraph.table_shape(scope))
    return np.ravel(places.transpose([scope.index(vertex) for vertex in edge]))
