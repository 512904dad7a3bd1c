"""Every joint action is looked at: exact for any mixer, for spaces that are small enough."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay, Problem, Solution
from hyperaction.maximise.masks import allowed


class Enumeration(AbstractWay):
    """All joint actions' values are computed, one state after the other, and the best is taken."""

    name: ClassVar[str] = "enumeration"

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        hypergraph = problem.hypergraph
        # State by state: the values of all actions of all states together may not fit in memory.
        if problem.mixer.affine:
            best = jax.lax.map(lambda one: _best_sum(hypergraph, one), problem.tables())
        else:
            per_state = (problem.outputs, problem.mask, problem.state)
            best = jax.lax.map(lambda one: _best_mix(problem, *one), per_state)
        actions = jnp.stack(jnp.unravel_index(best, hypergraph.sizes), axis=-1)
        return Solution(actions.astype(jnp.int32))


def enumeration_cost(hypergraph: Hypergraph) -> float:
    """Every action looks at every hyperedge."""
    return float(hypergraph.num_actions * hypergraph.num_edges)


def _best_sum(hypergraph: Hypergraph, tables: Float[Array, " outputs"]) -> Array:
    """The joint action whose entries have the largest sum, all tables summed small ones first."""
    total = jnp.zeros((1,) * hypergraph.num_vertices)
    for place in sorted(range(hypergraph.num_edges), key=lambda e: hypergraph.table_sizes[e]):
        edge = hypergraph.edges[place]
        shape = [size if v in edge else 1 for v, size in enumerate(hypergraph.sizes)]
        total = total + tables[hypergraph.slices[place]].reshape(shape)
    return jnp.argmax(jnp.ravel(jnp.broadcast_to(total, hypergraph.sizes)))


def _best_mix(
    problem: Problem,
    outputs: Float[Array, " outputs"],
    mask: Array | None,
    state: Array | None,
) -> Array:
    hypergraph = problem.hypergraph
    numbers = jnp.arange(hypergraph.num_actions)
    actions = jnp.stack(jnp.unravel_index(numbers, hypergraph.sizes), axis=-1).astype(jnp.int32)
    representations = hypergraph.representation(outputs, actions)
    values = jax.vmap(problem.mixer, in_axes=(0, None))(representations, state)
    if mask is not None:
        values = jnp.where(allowed(hypergraph, mask, actions), values, -jnp.inf)
    return jnp.argmax(values)
