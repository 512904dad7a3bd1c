"""Every joint action is looked at: exact for any mixer, for spaces that are small enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractSoftWay, Problem, Solution
from hyperaction.maximise.log_sum import log_sum, value_and_slope
from hyperaction.maximise.masks import allowed


class Enumeration(AbstractSoftWay):
    """All joint actions' values are computed, one state after the other."""

    name: ClassVar[str] = "enumeration"

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        best = _each(problem, lambda values: jnp.argmax(values))
        return Solution(_actions(problem.hypergraph, best))

    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        return _each(problem, lambda values, own: log_sum(values, own, 0), temperature)

    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        hypergraph = problem.hypergraph

        def project(values: Float[Array, " actions"], own: Float[Array, ""]) -> Any:
            value, shares = value_and_slope(lambda values: log_sum(values, own, 0), values)
            shares = shares.reshape(hypergraph.sizes)
            every = range(hypergraph.num_vertices)
            tables = [
                shares.sum(axis=[vertex for vertex in every if vertex not in edge])
                for edge in hypergraph.edges
            ]
            return value, jnp.concatenate([table.ravel() for table in tables])

        found: tuple[Array, Array] = _each(problem, project, temperature)
        return found

    def sample(
        self, problem: Problem, temperature: Float[Array, " batch"], key: PRNGKeyArray
    ) -> Int[Array, "batch vertices"]:
        def draw(values: Array, own: Array, own_key: PRNGKeyArray) -> Array:
            noise = jax.random.gumbel(own_key, values.shape, values.dtype)
            return jnp.argmax(values + own * noise)

        keys = jax.random.split(key, problem.outputs.shape[0])
        return _actions(problem.hypergraph, _each(problem, draw, temperature, keys))


def enumeration_cost(hypergraph: Hypergraph) -> float:
    """Every action looks at every hyperedge."""
    return float(hypergraph.num_actions * hypergraph.num_edges)


def _each(problem: Problem, work: Callable[..., Any], *args: Array) -> Any:
    """Works on the values of all joint actions of a state and the state's own arguments."""
    # State by state: the values of all actions of all states together may not fit in memory.
    if problem.mixer.affine:

        def on_sums(row: tuple[Array, ...]) -> Any:
            tables, *own = row
            return work(_sums(problem.hypergraph, tables), *own)

        return jax.lax.map(on_sums, (problem.tables(), *args))

    def on_mixes(row: tuple[Any, ...]) -> Any:
        per_state, *own = row
        return work(_mixes(problem, *per_state), *own)

    return jax.lax.map(on_mixes, ((problem.outputs, problem.mask, problem.state), *args))


def _actions(hypergraph: Hypergraph, numbers: Int[Array, " batch"]) -> Int[Array, "batch vertices"]:
    return jnp.stack(jnp.unravel_index(numbers, hypergraph.sizes), axis=-1).astype(jnp.int32)


def _sums(hypergraph: Hypergraph, tables: Float[Array, " outputs"]) -> Float[Array, " actions"]:
    """The sum of every joint action's entries, all tables summed small ones first."""
    total = jnp.zeros((1,) * hypergraph.num_vertices)
    for place in sorted(range(hypergraph.num_edges), key=lambda e: hypergraph.table_sizes[e]):
        edge = hypergraph.edges[place]
        shape = [size if v in edge else 1 for v, size in enumerate(hypergraph.sizes)]
        total = total + tables[hypergraph.slices[place]].reshape(shape)
    return jnp.ravel(jnp.broadcast_to(total, hypergraph.sizes))


def _mixes(
    problem: Problem,
    outputs: Float[Array, " outputs"],
    mask: Array | None,
    state: Array | None,
) -> Float[Array, " actions"]:
    """The mixed value of every joint action."""
    hypergraph = problem.hypergraph
    actions = _actions(hypergraph, jnp.arange(hypergraph.num_actions))
    if mask is not None:
        outputs = jnp.where(mask, outputs, 0.0)  # No gradient sees what is forbidden.
    representations = hypergraph.representation(outputs, actions)
    values = jax.vmap(problem.mixer, in_axes=(0, None))(representations, state)
    return (
        values if mask is None else jnp.where(allowed(hypergraph, mask, actions), values, -jnp.inf)
    )
