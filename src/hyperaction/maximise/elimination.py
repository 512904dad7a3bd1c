"""Exact max-sum variable elimination, for mixers that are weighted sums."""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from hyperaction import kernels
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay, Problem, Solution
from hyperaction.maximise.program import (
    Step,
    best_steps,
    elimination_order,
    encoded,
    least_work,
    message_sizes,
    order_of,
    width_of,
)

ENTRIES_AT_ONCE = 2**26
"""The most entries of one table over all states that are in flight at once in JAX."""


LARGEST_MESSAGE = 2**28
"""The most entries that a table may have in JAX: a gigabyte for one state."""


class Elimination(AbstractWay):
    """Vertices are maximised out one after the other, by the compiled kernel."""

    name: ClassVar[str] = "elimination"
    steps: tuple[Step, ...] = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        tables = problem.tables()
        if tables.dtype == jnp.float64:  # The kernel has single precision only.
            order = elimination_order(problem.hypergraph)
            return JaxElimination(cost=self.cost, order=order).solve(problem)
        return Solution(kernels.eliminate(tables, encoded(problem.hypergraph, self.steps)))

    def width(self, hypergraph: Hypergraph) -> int:
        return width_of(hypergraph, order_of(self.steps))


class JaxElimination(AbstractWay):
    """Vertices are maximised out one after the other, in JAX on any device."""

    name: ClassVar[str] = "elimination"
    order: tuple[int, ...] = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        hypergraph, tables = problem.hypergraph, problem.tables()
        largest = max(message_sizes(hypergraph, self.order))
        at_once = max(1, ENTRIES_AT_ONCE // largest)
        if 0 < tables.shape[0] <= at_once:
            return Solution(_eliminate(hypergraph, self.order, tables))
        one = jax.lax.map(
            lambda row: _eliminate(hypergraph, self.order, row[None])[0],
            tables,
            batch_size=at_once,
        )
        return Solution(one)

    def width(self, hypergraph: Hypergraph) -> int:
        return width_of(hypergraph, self.order)


def plan_elimination(
    hypergraph: Hypergraph, budget: float, *, use_native: bool
) -> Elimination | JaxElimination | None:
    """The cheapest elimination found, or None past the budget."""
    if least_work(hypergraph) > budget:  # Looking for orders takes long where there are many.
        return None
    if use_native:
        found = best_steps(hypergraph, budget)
        if found is not None:
            return Elimination(cost=found[1], steps=found[0])
    order = elimination_order(hypergraph)
    sizes = message_sizes(hypergraph, order)
    fits = sum(sizes) <= budget and max(sizes) <= LARGEST_MESSAGE
    return JaxElimination(cost=float(sum(sizes)), order=order) if fits else None


Factor = tuple[tuple[int, ...], Float[Array, "..."]]
"""A table with the states last, and the vertices of its other axes in increasing order."""


def _eliminate(
    hypergraph: Hypergraph, order: tuple[int, ...], tables: Float[Array, "batch outputs"]
) -> Int[Array, "batch vertices"]:
    batch = tables.shape[0]
    # States last: neighbouring numbers are then neighbouring states, which vectorise.
    columns = tables.T
    factors: list[Factor] = [
        (edge, columns[part].reshape(*hypergraph.table_shape(edge), batch))
        for edge, part in zip(hypergraph.edges, hypergraph.slices, strict=True)
    ]
    buckets: list[list[Factor]] = []
    for vertex in order:
        bucket = [factor for factor in factors if vertex in factor[0]]
        factors = [factor for factor in factors if vertex not in factor[0]]
        scope, total = _sum(hypergraph, bucket)
        axis = scope.index(vertex)
        factors.append((scope[:axis] + scope[axis + 1 :], total.max(axis=axis)))
        buckets.append(bucket)
    actions: dict[int, Int[Array, " batch"]] = {}
    for vertex, bucket in zip(reversed(order), reversed(buckets), strict=True):
        worth = sum(_given(hypergraph, factor, vertex, actions) for factor in bucket)
        actions[vertex] = jnp.argmax(worth, axis=0)
    chosen = [actions[vertex] for vertex in range(hypergraph.num_vertices)]
    return jnp.stack(chosen, axis=-1).astype(jnp.int32)


def _sum(hypergraph: Hypergraph, bucket: list[Factor]) -> Factor:
    """The sum of tables, small scopes merged first, so that few adds touch the largest table."""
    bucket = list(bucket)
    while len(bucket) > 1:
        bucket.sort(key=lambda factor: math.prod(hypergraph.table_shape(factor[0])))
        (one, a), (other, b) = bucket[:2]
        scope = tuple(sorted({*one, *other}))
        bucket[:2] = [
            (scope, _spread(hypergraph, one, a, scope) + _spread(hypergraph, other, b, scope))
        ]
    return bucket[0]


def _spread(
    hypergraph: Hypergraph, scope: tuple[int, ...], table: Float[Array, "..."], to: tuple[int, ...]
) -> Float[Array, "..."]:
    """The table with axes of length one for the vertices that it does not hold."""
    shape = [hypergraph.sizes[vertex] if vertex in scope else 1 for vertex in to]
    return table.reshape(*shape, table.shape[-1])


def _given(
    hypergraph: Hypergraph, factor: Factor, vertex: int, actions: dict[int, Int[Array, " batch"]]
) -> Float[Array, "sub_actions batch"]:
    """A table at the chosen sub-actions, for every sub-action of one vertex."""
    scope, table = factor
    table = jnp.moveaxis(table, scope.index(vertex), -2)
    index = jnp.zeros(table.shape[-1], jnp.int32)
    for other in scope:
        if other != vertex:
            index = index * hypergraph.sizes[other] + actions[other]
    flat = table.reshape(-1, *table.shape[-2:])
    return jnp.take_along_axis(flat, index[None, None, :], axis=0)[0]
