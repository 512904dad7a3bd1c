"""The best joint actions of NumPy arrays, by the same plans and kernels, without JAX's devices.

For other frameworks: no backend of JAX is started, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.constraints import Constraints
from hyperaction.hypergraph import Hypergraph
from hyperaction.kernels import host
from hyperaction.maximise import search
from hyperaction.maximise.base import AbstractWay
from hyperaction.maximise.components import Components, parts_of
from hyperaction.maximise.cost import PER_STATE, Budget
from hyperaction.maximise.decentralised import Decentralised
from hyperaction.maximise.elimination import Elimination
from hyperaction.maximise.extension import Extension, extension
from hyperaction.maximise.planner import Planner
from hyperaction.maximise.program import encoded

Tables = NDArray[np.float32]
"""Weighted and masked outputs whose sum is to be maximised, `[batch, num_outputs]`."""
Actions = NDArray[np.int32]


Solve = Callable[[Tables, Actions | None], Actions]
"""The best joint action of every state, from tables and maybe actions to start from."""


class HostPlan(NamedTuple):
    """How best actions are found: of the tables, and of what is allowed alone if that is needed."""

    way: AbstractWay
    solve: Solve
    start: Solve | None
    """Finds allowed actions, from which ways that are not exact start."""


def plan(extended: Extension, budget: float, *, masked: bool) -> HostPlan | None:
    """The way of a weighted sum under constraints; None where only JAX has it.

    Args:
        extended: The hyperedges, with those of the constraints.
        budget: What an exact way may take, in seconds per state.
        masked: Whether some actions may be forbidden.
    """
    return _planned(extended, budget, masked, host.available())


@lru_cache(maxsize=256)
def _planned(extended: Extension, budget: float, masked: bool, native: bool) -> HostPlan | None:
    planner = Planner(True, True, Budget(budget, PER_STATE), native, search.NODES)
    way, _ = planner.plan(extended)
    solve, start = _solver(way, extended.hypergraph), None
    if masked and not way.exact:
        singles = of_singles(extended.constraints)
        start = _solver(planner.plan_exact(singles)[0], singles.hypergraph)
        if start is None:
            return None
    return None if solve is None else HostPlan(way, solve, start)


def of_singles(constraints: Constraints) -> Extension:
    """The constraints alone, on vertices that no hyperedge joins."""
    return extension(Hypergraph.of_orders(constraints.sizes, [1]), constraints)


def _solver(way: AbstractWay, hypergraph: Hypergraph) -> Solve | None:
    """What solves in that way, if that takes no JAX."""
    if isinstance(way, Components):
        return _solver_of_parts(way, hypergraph)
    if isinstance(way, Decentralised):
        return lambda tables, start: _each_for_itself(hypergraph, tables)
    if isinstance(way, Elimination):
        program = encoded(hypergraph, way.steps)
        return lambda tables, start: host.eliminate(tables, program)
    if isinstance(way, search.Tabu | search.BranchAndBound):
        structure, limits = search.structure(hypergraph), way.limits._asdict()
        return lambda tables, start: host.search(tables, structure, start=start, **limits)
    return None


def _solver_of_parts(way: Components, hypergraph: Hypergraph) -> Solve | None:
    parts = []
    for part, own in zip(parts_of(hypergraph), way.ways, strict=True):
        solver = _solver(own, part.of(hypergraph))
        if solver is None:
            return None
        parts.append((solver, np.array(part.vertices), part.outputs(hypergraph)))

    def solve(tables: Tables, start: Actions | None) -> Actions:
        actions = np.empty((len(tables), hypergraph.num_vertices), np.int32)
        for solver, vertices, places in parts:
            begin = None if start is None else start[:, vertices]
            actions[:, vertices] = solver(tables[:, places], begin)
        return actions

    return solve


def _each_for_itself(hypergraph: Hypergraph, tables: Tables) -> Actions:
    actions = np.empty((len(tables), hypergraph.num_vertices), np.int32)
    for (vertex,), part in zip(hypergraph.edges, hypergraph.slices, strict=True):
        actions[:, vertex] = tables[:, part].argmax(axis=1)
    return actions
