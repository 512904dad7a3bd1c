"""Programs for the compiled kernel: which vertices to condition on and which to eliminate.

To *eliminate* a vertex is to replace all tables that hold it by one message: the best they can add
up to, for every combination of its neighbours' sub-actions. It is exact, but the message grows with
the number of neighbours. To *condition* on a vertex is to try all its sub-actions one after the
other, which takes it out of every table. A program eliminates what is cheap and conditions on the
rest, so that all tables stay small enough for the processor's cache.

All tables' axes are sorted alike: conditioned vertices first, in their order, then eliminated ones,
the first to go last. So a slice at a conditioned sub-action is one contiguous block, and the
choices that an elimination maximises over stand side by side.

What follows a condition is repeated for each of its sub-actions. A table's *level* is the number of
conditions that it depends on: tables that an elimination adds are added before the conditions that
they do not depend on, where that is less work.
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

MOST_OPERANDS = 3
"""The most tables that one instruction adds up."""

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
    """A table in the arena: its vertices, slowest axis first, where it starts, and its level."""

    scope: tuple[int, ...]
    start: int
    level: int


@dataclass
class Instruction:
    """`target[i] = max over choices of a[..] + b[..] + c[..]`, with one to three operands."""

    target: Table
    choices: int
    operands: tuple[Table, ...]
    last: int | None  # the eliminated vertex, the last axis of all operands
    shift: int = 0  # how far one conditioned sub-action moves the first operand


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

    def __init__(
        self,
        hypergraph: Hypergraph,
        steps: tuple[Step, ...],
        budget: float,
        operands: int = MOST_OPERANDS,
    ) -> None:
        self.hypergraph = hypergraph
        self.budget = budget
        self.operands = operands
        self.cost = 0.0
        self.adds = 0
        self.arena = 0
        self.repeats = [1]  # by level
        conditioned = [step.vertex for step in steps if step.conditions]
        eliminated = [step.vertex for step in steps if not step.conditions]
        self.place = {v: i for i, v in enumerate([*conditioned, *reversed(eliminated)])}
        self.inputs = [self._table(frozenset(edge), 0) for edge in hypergraph.edges]
        self.tables = list(self.inputs)
        self.early = [Routine(-1, 1, conditions=False)]  # by level: sums for what comes later
        routines = [self._condition(s) if s.conditions else self._eliminate(s) for s in steps]
        routines.append(self._total())
        self.routines = self._with_early(routines)

    @property
    def level(self) -> int:
        return len(self.repeats) - 1

    def _with_early(self, routines: list[Routine]) -> list[Routine]:
        early, placed = iter(self.early), list[Routine]()
        for routine in routines:
            if routine.conditions and (sums := next(early)).instructions:
                placed.append(sums)
            placed.append(routine)
        return placed

    def _table(self, scope: Scope, level: int) -> Table:
        table = Table(tuple(sorted(scope, key=self.place.__getitem__)), self.arena, level)
        self.arena += size_of(self.hypergraph, scope)
        if self.arena > LARGEST_ARENA:
            raise TooCostlyError
        return table

    def _emit(
        self,
        routine: Routine,
        scope: Scope,
        *operands: Table,
        last: int | None = None,
        shift: int = 0,
        level: int | None = None,
    ) -> Table:
        level = self.level if level is None else level
        choices = 1 if last is None else self.hypergraph.sizes[last]
        count = size_of(self.hypergraph, scope)
        self.adds += self.repeats[level] * count * choices
        self.cost += self.repeats[level] * (count * choices * _slowdown(count * choices) + OVERHEAD)
        if self.cost > self.budget:
            raise TooCostlyError
        target = self._table(scope, level)
        routine.instructions.append(Instruction(target, choices, operands, last, shift))
        return target

    def _condition(self, step: Step) -> Routine:
        routine = Routine(step.vertex, self.hypergraph.sizes[step.vertex], conditions=True)
        self.repeats.append(self.repeats[-1] * routine.size)
        self.early.append(Routine(-1, 1, conditions=False))
        holding = [table for table in self.tables if step.vertex in table.scope]
        self.tables = [table for table in self.tables if step.vertex not in table.scope]
        for table in holding:
            scope = frozenset(table.scope) - {step.vertex}
            same = [other for other in self.tables if frozenset(other.scope) == scope]
            shift = size_of(self.hypergraph, scope)
            added = self._emit(routine, scope, table, *same[:1], shift=shift)
            if same:
                self.tables.remove(same[0])
            self.tables.append(added)
        return routine

    def _eliminate(self, step: Step) -> Routine:
        routine = Routine(step.vertex, self.hypergraph.sizes[step.vertex], conditions=False)
        holding = [table for table in self.tables if step.vertex in table.scope]
        self.tables = [table for table in self.tables if step.vertex not in table.scope]
        holding = self._add_early(holding)
        while len(holding) > self.operands:
            one, other = self._smallest_pair(holding)
            holding = [table for table in holding if table is not one and table is not other]
            scope = frozenset(one.scope) | frozenset(other.scope)
            holding.append(self._emit(routine, scope, one, other))
        scope = frozenset(v for table in holding for v in table.scope) - {step.vertex}
        message = self._emit(routine, scope, *holding, last=step.vertex)
        routine.scope = message.scope
        self.tables.append(message)
        return routine

    def _add_early(self, holding: list[Table]) -> list[Table]:
        """Adds tables before the conditions that they do not depend on."""
        early = [table for table in holding if table.level < self.level]
        while len(early) > 1:
            one, other = self._smallest_pair(early)
            if (added := self._sum_early(one, other)) is None:
                return holding
            gone = (one, other)
            holding = [added, *(table for table in holding if table not in gone)]
            early = [added, *(table for table in early if table not in gone)]
        if early and early[0] not in self.inputs:
            within = frozenset(early[0].scope)
            for table in [t for t in self.tables if within.issuperset(t.scope)]:
                if table.level < self.level and (added := self._sum_early(early[0], table)):
                    self.tables.remove(table)
                    holding[holding.index(early[0])] = added
                    early = [added]
        return holding

    def _sum_early(self, one: Table, other: Table) -> Table | None:
        """Two tables' sum before the conditions that it does not need; None if it costs more."""
        scope = frozenset(one.scope) | frozenset(other.scope)
        level = max(one.level, other.level)
        early = self.repeats[level] * size_of(self.hypergraph, scope)
        least = min(size_of(self.hypergraph, frozenset(t.scope)) for t in (one, other))
        if early > self.repeats[-1] * least:
            return None
        return self._emit(self.early[level], scope, one, other, level=level)

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
def encoded(
    hypergraph: Hypergraph, steps: tuple[Step, ...], operands: int = MOST_OPERANDS
) -> NDArray[np.int32]:
    """The program as the kernels read it: one flat array (see kernels/program.h).

    Args:
        hypergraph: The hypergraph.
        steps: Its vertices' steps.
        operands: The most tables that an instruction may take; soft kernels know two.
    """
    builder = _Builder(hypergraph, steps, math.inf, operands)
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
    """Where instructions find their operands, each index array kept once.

    Entries of a target come in runs, in which an operand's place moves on from entry to entry, or
    stays. Indices say where each run starts.
    """

    def __init__(self, hypergraph: Hypergraph) -> None:
        self.hypergraph = hypergraph
        self.arrays: list[NDArray[np.int32]] = []
        self.length = 0
        self.known: dict[bytes, int] = {}

    def encode(self, one: Instruction) -> list[int]:
        places = [self._places(one, operand) for operand in one.operands]
        run, moves = self._run(one, places)
        # Those that move come first; a conditioned one always does.
        order = sorted(range(len(moves)), key=lambda i: not moves[i])
        row = [one.target.start, len(places[0]), one.choices, run, sum(moves), one.shift]
        for i in order:
            step = run * one.choices if moves[i] else 0
            row += [one.operands[i].start, self._place(places[i][::run], step)]
        return row + [-1, -1] * (MOST_OPERANDS - len(order))

    def _places(self, one: Instruction, operand: Table) -> NDArray[np.int32]:
        """Where the choices of each of the target's entries begin in the operand."""
        scope = one.target.scope if one.last is None else (*one.target.scope, one.last)
        if one.shift and operand is one.operands[0]:
            scope = operand.scope[1:]
            return np.arange(math.prod(self.hypergraph.table_shape(scope)), dtype=np.int32)
        shape = self.hypergraph.table_shape(scope)
        grid = np.broadcast_to(
            np.arange(math.prod(self.hypergraph.table_shape(operand.scope))).reshape(
                [size if v in operand.scope else 1 for v, size in zip(scope, shape, strict=True)]
            ),
            shape,
        )
        return np.ravel(grid if one.last is None else grid[..., 0]).astype(np.int32)

    def _run(self, one: Instruction, operands: list[NDArray[np.int32]]) -> tuple[int, list[bool]]:
        """The longest run, and which operands move in it."""
        sizes = self.hypergraph.table_shape(one.target.scope)
        for axis in range(len(sizes)):
            run = math.prod(sizes[axis:])
            steps = [np.diff(places.reshape(-1, run)) for places in operands]
            if all((step == 0).all() or (step == one.choices).all() for step in steps):
                return run, [run == 1 or bool(step.any()) for step in steps]
        return 1, [True] * len(operands)

    def _place(self, starts: NDArray[np.int32], step: int) -> int:
        """The place of the runs' starts; -1 where they just count up by the step."""
        if step and np.array_equal(starts, np.arange(len(starts)) * step):
            return -1
        key = starts.tobytes()
        if key not in self.known:
            self.known[key] = self.length
            self.arrays.append(starts)
            self.length += len(starts)
        return self.known[key]


def _positions(
    hypergraph: Hypergraph, edge: tuple[int, ...], scope: tuple[int, ...]
) -> NDArray[np.int32]:
    """Where each entry of a hyperedge's table goes when its axes are sorted as in the scope."""
    table = np.arange(math.prod(hypergraph.table_shape(edge)), dtype=np.int32)
    places = table.reshape(hypergraph.table_shape(scope))
    return np.ravel(places.transpose([scope.index(vertex) for vertex in edge]))
