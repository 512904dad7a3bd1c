"""The best joint actions of NumPy arrays, by the same plans and kernels, without JAX's devices.

For other frameworks: no backend of JAX is started, and nothing is compiled.
"""

from __future__ import annotations

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


class HostPlan(NamedTuple):
    """How best actions are found: of the tables, and of what is allowed alone if that is needed."""

    way: AbstractWay
    start: AbstractWay | None
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
    start = None
    if masked and not way.exact:
        start, _ = planner.plan_exact(of_singles(extended.constraints))
    fits = _serves(way) and (start is None or _serves(start))
    return HostPlan(way, start) if fits else None


def of_singles(constraints: Constraints) -> Extension:
    """The constraints alone, on vertices that no hyperedge joins."""
    return extension(Hypergraph.of_orders(constraints.sizes, [1]), constraints)


def _serves(way: AbstractWay) -> bool:
    if isinstance(way, Components):
        return all(map(_serves, way.ways))
    return isinstance(way, Decentralised | Elimination | search.Tabu | search.BranchAndBound)


def solve(
    way: AbstractWay, hypergraph: Hypergraph, tables: Tables, start: Actions | None = None
) -> Actions:
    """The best joint action of every state, `[batch, num_vertices]`.

    Args:
        way: A way of a plan.
        hypergraph: The hyperedges, with those of constraints.
        tables: Their tables.
        start: Actions that ways which are not exact start from.
    """
    if isinstance(way, Components):
        actions = np.empty((len(tables), hypergraph.num_vertices), np.int32)
        for (part, vertices, places), own in zip(_parts(hypergraph), way.ways, strict=True):
            begin = None if start is None else start[:, vertices]
            actions[:, vertices] = solve(own, part, tables[:, places], begin)
        return actions
    if isinstance(way, Decentralised):
        return _each_for_itself(hypergraph, tables)
    if isinstance(way, Elimination):
        return host.eliminate(tables, encoded(hypergraph, way.steps))
    assert isinstance(way, search.Tabu | search.BranchAndBound)
    structure = search.structure(hypergraph)
    return host.search(tables, structure, start=start, **way.limits._asdict())


@lru_cache(maxsize=64)
def _parts(
    hypergraph: Hypergraph,
) -> list[tuple[Hypergraph, NDArray[np.int64], NDArray[np.int64]]]:
    """Every part that shares no vertex with others, its vertices, and its place in the outputs."""
    return [
        (part.of(hypergraph), np.array(part.vertices), part.outputs(hypergraph))
        for part in parts_of(hypergraph)
    ]


def _each_for_itself(hypergraph: Hypergraph, tables: Tables) -> Actions:
    actions = np.empty((len(tables), hypergraph.num_vertices), np.int32)
    for (vertex,), part in zip(hypergraph.edges, hypergraph.slices, strict=True):
        actions[:, vertex] = tables[:, part].argmax(axis=1)
    return actions
