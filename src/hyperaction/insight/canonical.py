"""The canonical form of values on hyperedges: the functional ANOVA decomposition.

A value can be moved between a hyperedge and a smaller one within it without changing any Q(s, a),
so learned tables alone do not say what a hyperedge is good for. In canonical form every set of
vertices holds only what no smaller set can express: its table has mean zero along each of its
axes. The parts are then orthogonal, and their variances add up to the variance of Q over actions.

Means are taken with weights that are a product over vertices; even weights are the default.
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
"""For each vertex, how much each of its sub-actions weighs; together 1."""


class Canonical(NamedTuple):
    """Values in canonical form, for any number of states."""

    constant: Array
    """The mean over all actions, `[...]`."""
    parts: dict[Vertices, Array]
    """For each set of vertices within a hyperedge, its table, `[..., *sizes]`."""


def even(hypergraph: Hypergraph) -> list[Array]:
    """All sub-actions weigh the same."""
    return [np.full(size, 1.0 / size) for size in hypergraph.sizes]


def closure(hypergraph: Hypergraph) -> list[Vertices]:
    """All sets of vertices within a hyperedge but the empty one, small ones first."""
    found = {
        part
        for edge in hypergraph.edges
        for order in range(1, len(edge) + 1)
        for part in combinations(edge, order)
    }
    return sorted(found, key=lambda part: (len(part), part))


def canonical(hypergraph: Hypergraph, outputs: Array, weights: Weights | None = None) -> Canonical:
    """Splits the sum of the hyperedges' values, `outputs[..., num_outputs]`, into its parts.

    From the largest sets down, each passes its means along each axis on to the set without that
    vertex. No joint action is enumerated: the work is that of the hyperedges' own tables.
    """
    weights = even(hypergraph) if weights is None else weights
    outputs = np.asarray(outputs, np.float64)
    states = outputs.shape[:-1]
    parts: dict[Vertices, Array] = {(): np.zeros(states)}
    for part in closure(hypergraph):
        parts[part] = np.zeros((*states, *hypergraph.table_shape(part)))
    for edge, place in zip(hypergraph.edges, hypergraph.slices, strict=True):
        parts[edge] += outputs[..., place].reshape(*states, *hypergraph.table_shape(edge))
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
    """The same values as outputs: each part in the smallest hyperedge that holds it."""
    states = form.constant.shape
    outputs = np.zeros((*states, hypergraph.num_outputs))
    tables = {
        edge: outputs[..., place].reshape(*states, *hypergraph.table_shape(edge))
        for edge, place in zip(hypergraph.edges, hypergraph.slices, strict=True)
    }
    for part, table in form.parts.items():
        home = min((edge for edge in tables if set(part) <= set(edge)), key=lambda e: (len(e), e))
        shape = tuple(hypergraph.sizes[v] if v in part else 1 for v in home)
        tables[home] = tables[home] + table.reshape(*states, *shape)
    first = hypergraph.edges[0]
    tables[first] = tables[first] + form.constant.reshape(*states, *(1,) * len(first))
    for edge, place in zip(hypergraph.edges, hypergraph.slices, strict=True):
        outputs[..., place] = tables[edge].reshape(*states, -1)
    return outputs


def variances(form: Canonical, weights: Weights) -> dict[Vertices, Array]:
    """Each part's share of the variance of the values over actions, in every state."""
    found = {}
    for part, table in form.parts.items():
        squares = table**2
        for vertex in reversed(part):
            squares = np.tensordot(squares, weights[vertex], axes=(squares.ndim - 1, 0))
        found[part] = squares
    return found
