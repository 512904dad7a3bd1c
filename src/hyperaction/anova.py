"""The canonical form of values on hyperedges: the functional ANOVA decomposition.

A value can be moved between a hyperedge and a subset of it without changing any Q(s, a), so learned
tables alone do not show what a hyperedge contributes. In canonical form the table of each set of
vertices holds only what no smaller set can express: its mean is zero along each of its axes. The
parts are then orthogonal, and their variances add up to the variance of Q over actions.

Means are weighted, with weights that are a product over vertices; uniform weights are the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph

Array = NDArray[np.float64]
Vertices = tuple[int, ...]
Weights = Sequence[Array]
"""For each vertex, the weights of its sub-actions, which sum to 1."""


class Canonical(NamedTuple):
    """Values in canonical form, for any number of states."""

    constant: Array
    """The mean over all actions, `[...]`."""
    parts: dict[Vertices, Array]
    """The table of each subset of a hyperedge, `[..., *sizes]`."""


def uniform(hypergraph: Hypergraph) -> list[Array]:
    """Equal weights for all sub-actions of a vertex."""
    return [np.full(size, 1.0 / size) for size in hypergraph.sizes]


def closure(hypergraph: Hypergraph) -> list[Vertices]:
    """All nonempty subsets of hyperedges, small ones first."""
    parts = {
        part
        for edge in hypergraph.edges
        for order in range(1, len(edge) + 1)
        for part in combinations(edge, order)
    }
    return sorted(parts, key=lambda part: (len(part), part))


def canonical(hypergraph: Hypergraph, outputs: Array, weights: Weights | None = None) -> Canonical:
    """Splits the sum of the hyperedges' values, `outputs[..., num_outputs]`, into its parts.

    From the largest set down, the means along each axis are moved to the set without that vertex.
    No joint action is enumerated: the cost is that of the hyperedges' own tables.
    """
    weights = uniform(hypergraph) if weights is None else weights
    outputs = np.asarray(outputs, np.float64)
    states = outputs.shape[:-1]
    parts: dict[Vertices, Array] = {(): np.zeros(states)}
    for part in closure(hypergraph):
        parts[part] = np.zeros((*states, *hypergraph.table_shape(part)))
    for edge, span in zip(hypergraph.edges, hypergraph.slices, strict=True):
        parts[edge] += outputs[..., span].reshape(*states, *hypergraph.table_shape(edge))
    for part in reversed(closure(hypergraph)):
        table = parts[part]
        for axis, vertex in enumerate(part):
            along = len(states) + axis
            means = np.tensordot(table, weights[vertex], axes=(along, 0))
            parts[(*part[:axis], *part[axis + 1 :])] += means
            table = table - np.expand_dims(means, along)
        parts[part] = table
    return Canonical(parts.pop(()), parts)


def outputs_of(form: Canonical, hypergraph: Hypergraph) -> Array:
    """The same values as outputs, each part in the smallest hyperedge that contains it."""
    states = form.constant.shape
    outputs = np.zeros((*states, hypergraph.num_outputs))
    tables = {
        edge: outputs[..., span].reshape(*states, *hypergraph.table_shape(edge))
        for edge, span in zip(hypergraph.edges, hypergraph.slices, strict=True)
    }
    for part, table in form.parts.items():
        home = min((edge for edge in tables if set(part) <= set(edge)), key=lambda e: (len(e), e))
        shape = tuple(hypergraph.sizes[v] if v in part else 1 for v in home)
        tables[home] = tables[home] + table.reshape(*states, *shape)
    first = hypergraph.edges[0]
    tables[first] = tables[first] + form.constant.reshape(*states, *(1,) * len(first))
    for edge, span in zip(hypergraph.edges, hypergraph.slices, strict=True):
        outputs[..., span] = tables[edge].reshape(*states, -1)
    return outputs


def variances(form: Canonical, weights: Weights) -> dict[Vertices, Array]:
    """The variance over actions that each part contributes, per state."""
    contributions = {}
    for part, table in form.parts.items():
        squares = table**2
        for vertex in reversed(part):
            squares = np.tensordot(squares, weights[vertex], axes=(squares.ndim - 1, 0))
        contributions[part] = squares
    return contributions
