"""Constraints as further hyperedges: what a way of maximising sees of them.

A table of what is allowed adds nothing where it is true and minus infinity where it is not. Where a
hyperedge holds all of its vertices, it is folded into that hyperedge's table, else it is a
hyperedge of its own. To count vertices, a counter is carried from one to the next: further vertices
whose sub-actions are the counts so far, each joined with the vertex that it adds, so that no
hyperedge is larger than three.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int
from numpy.typing import NDArray

from hyperaction.constraints import Cardinality, Constraints, Scope
from hyperaction.hypergraph import Hypergraph


@dataclass(frozen=True)
class Extension:
    """A hypergraph under constraints.

    Args:
        base: The hyperedges that have values.
        constraints: What is allowed of their vertices' sub-actions.
    """

    base: Hypergraph
    constraints: Constraints

    @cached_property
    def _built(self) -> _Built:
        return _Built(self.base, self.constraints)

    @property
    def hypergraph(self) -> Hypergraph:
        """The hyperedges that have values first, then those of constraints."""
        return self._built.hypergraph

    @property
    def sources(self) -> NDArray[np.int32]:
        """Where each entry finds what is allowed of it in a mask, `[num_outputs, most]`.

        The place past the mask's end stands for true.
        """
        return self._built.sources

    @property
    def always(self) -> NDArray[np.bool_]:
        """What the constraints allow in every state, `[num_outputs]`."""
        return self._built.always

    @property
    def num_counters(self) -> int:
        """How many vertices of the extended hypergraph are counters."""
        return self.hypergraph.num_vertices - self.base.num_vertices

    def entries(
        self, mask: Bool[Array, "*batch entries"] | None, batch: tuple[int, ...]
    ) -> Bool[Array, "*batch outputs"] | None:
        """What is allowed of every entry of the extended hypergraph; None where all is."""
        always = self.always
        if mask is None:
            return None if always.all() else jnp.broadcast_to(always, (*batch, len(always)))
        padded = jnp.concatenate([mask, jnp.ones((*mask.shape[:-1], 1), bool)], axis=-1)
        allowed = jnp.all(padded[..., self.sources], axis=-1)
        return allowed if always.all() else allowed & always

    def complete(self, actions: Int[Array, "*batch vertices"]) -> Int[Array, "*batch all_vertices"]:
        """Actions with the counters that go with them."""
        columns = [actions]
        for counted, sizes in self._built.counters:
            scope, defaults = np.array(counted.scope()), np.array(counted.defaults())
            counts = jnp.cumsum(actions[..., scope] != defaults, axis=-1)[..., 1:-1]
            columns.append(jnp.minimum(counts, np.array(sizes) - 1).astype(actions.dtype))
        return columns[0] if len(columns) == 1 else jnp.concatenate(columns, axis=-1)

    def allows(
        self, entries: Bool[Array, "*batch outputs"], actions: Int[Array, "*more vertices"]
    ) -> Bool[Array, "..."]:
        """Whether every entry of each action is allowed; leading axes broadcast."""
        return jnp.all(self.hypergraph.representation(entries, self.complete(actions)), axis=-1)


@lru_cache(maxsize=256)
def extension(base: Hypergraph, constraints: Constraints | None = None) -> Extension:
    """The extension of a hypergraph, built once."""
    return Extension(base, Constraints(base.sizes) if constraints is None else constraints)


class _Built:
    """The extended hypergraph, and where its entries find what is allowed of them."""

    def __init__(self, base: Hypergraph, constraints: Constraints) -> None:
        self.sizes = list(base.sizes)
        self.edges: list[Scope] = list(base.edges)
        self.fixed: list[tuple[Scope, NDArray[np.bool_]]] = list(constraints.fixed_tables)
        self.counters: list[tuple[Cardinality, list[int]]] = []
        for counted in constraints.cardinalities:
            self._count(counted)
        for scope in (*constraints.scopes, *(scope for scope, _ in self.fixed)):
            if not self._holding(scope):
                self.edges.append(scope)
        self.hypergraph = Hypergraph(self.sizes, self.edges)
        self.constraints = constraints
        self.always = np.ones(self.hypergraph.num_outputs, bool)
        parts = dict(zip(self.hypergraph.edges, self.hypergraph.slices, strict=True))
        for scope, table in self.fixed:
            for edge in self._holding(scope):
                self.always[parts[edge]] &= table.ravel()[self._places(scope, edge)]

    def _holding(self, scope: Scope) -> list[Scope]:
        return [edge for edge in self.edges if set(scope) <= set(edge)]

    def _places(self, scope: Scope, edge: Scope) -> NDArray[np.int32]:
        """The entry of the scope's table that each entry of an edge's table goes with."""
        places, stride = np.zeros((1,) * len(edge), np.int32), 1
        for vertex in reversed(scope):
            shape = [self.sizes[v] if v == vertex else 1 for v in edge]
            places = places + stride * np.arange(self.sizes[vertex], dtype=np.int32).reshape(shape)
            stride *= self.sizes[vertex]
        return np.broadcast_to(places, [self.sizes[v] for v in edge]).reshape(-1)

    @cached_property
    def sources(self) -> NDArray[np.int32]:
        """Each entry's places in a mask, `[num_outputs, most]`; past its end where it has fewer."""
        starts = self.constraints.starts
        held = [[scope for scope in starts if set(scope) <= set(edge)] for edge in self.edges]
        shape = self.hypergraph.num_outputs, max(map(len, held))
        sources = np.full(shape, self.constraints.num_entries, np.int32)
        for edge, scopes, part in zip(self.edges, held, self.hypergraph.slices, strict=True):
            for number, scope in enumerate(scopes):
                sources[part, number] = starts[scope] + self._places(scope, edge)
        return sources

    def _count(self, counted: Cardinality) -> None:
        """Carries a counter from vertex to vertex, and limits what it ends at."""
        scope, defaults = counted.scope(), counted.defaults()
        others = [np.arange(self.sizes[v]) != d for v, d in zip(scope, defaults, strict=True)]
        if len(scope) == 1:
            self.fixed.append((scope, np.asarray(counted.holds(others[0].astype(int)))))
            return
        sizes = [min(so_far, counted.largest) + 1 for so_far in range(2, len(scope))]
        self.counters.append((counted, sizes))
        counts, before = others[0].astype(int), scope[0]
        for vertex, other, size in zip(scope[1:-1], others[1:-1], sizes, strict=True):
            counter = len(self.sizes)
            self.sizes.append(size)
            new = counts[:, None] + other
            if counted.at_most is None:
                new = np.minimum(new, size - 1)
            self._add((before, vertex, counter), new[..., None] == np.arange(size))
            counts, before = np.arange(size), counter
        self._add((before, scope[-1]), np.asarray(counted.holds(counts[:, None] + others[-1])))

    def _add(self, vertices: tuple[int, ...], table: NDArray[np.bool_]) -> None:
        order = np.argsort(vertices)
        edge = tuple(int(vertices[i]) for i in order)
        if edge not in self.edges:
            self.edges.append(edge)
        self.fixed.append((edge, table.transpose(order)))


@lru_cache(maxsize=16)
def feasible(constraints: Constraints, limit: int) -> NDArray[np.int32] | None:
    """All actions that are allowed in every state, listed once; None past a limit.

    Where none is, one that is forbidden, so that there is something to look at.
    """
    listed = constraints.listed(limit)
    if listed is not None and not len(listed):
        return np.zeros((1, len(constraints.sizes)), np.int32)
    return listed
