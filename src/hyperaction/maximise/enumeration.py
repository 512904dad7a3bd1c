"""Every joint action is looked at: exact for any mixer, for spaces that are small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractSoftWay, Problem, Solution
from hyperaction.maximise.cost import Rate
from hyperaction.maximise.extension import Extension, feasible
from hyperaction.maximise.log_sum import log_sum, value_and_slope

MOST_LISTED = 200_000
"""The most actions that are listed where constraints forbid the others in every state."""


class Enumeration(AbstractSoftWay):
    """All joint actions' values are computed, one state after the other."""

    name: ClassVar[str] = "enumeration"
    rate: ClassVar[Rate] = Rate(1.5)

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        best = _each(problem, lambda values: jnp.argmax(values))
        return Solution(_actions(problem, best))

    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        return _each(problem, lambda values, own: log_sum(values, own, 0), temperature)

    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        hypergraph, listed = problem.hypergraph, _listed(problem)

        def project(values: Float[Array, " actions"], own: Float[Array, ""]) -> Any:
            value, shares = value_and_slope(lambda values: log_sum(values, own, 0), values)
            if listed is not None:
                base = problem.extension.base
                nothing = jnp.zeros(base.num_outputs, shares.dtype)
                return value, nothing.at[base.indices(listed)].add(shares[:, None])
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
        return _actions(problem, _each(problem, draw, temperature, keys))


def enumeration_cost(extended: Extension) -> float:
    """Every action that is not forbidden in every state looks at every hyperedge."""
    base, constraints = extended.base, extended.constraints
    if not constraints.always:
        return float(base.num_actions * extended.hypergraph.num_edges)
    listed = feasible(constraints, MOST_LISTED)
    return math.inf if listed is None else float(len(listed) * extended.hypergraph.num_edges)


def _listed(problem: Problem) -> NDArray[np.int32] | None:
    """The actions that some state may allow, where that is not all of them."""
    constraints = problem.extension.constraints
    return feasible(constraints, MOST_LISTED) if constraints.always else None


def _each(problem: Problem, work: Callable[..., Any], *args: Array) -> Any:
    """Works on the values of all joint actions of a state and the state's own arguments."""
    # State by state: the values of all actions of all states together may not fit in memory.
    if problem.mixer.affine:
        listed = _listed(problem)

        def on_sums(row: tuple[Array, ...]) -> Any:
            tables, *own = row
            if listed is None:
                return work(_sums(problem.hypergraph, tables), *own)
            actions = problem.extension.complete(jnp.asarray(listed))
            return work(problem.hypergraph.representation(tables, actions).sum(axis=-1), *own)

        return jax.lax.map(on_sums, (problem.tables(), *args))

    def on_mixes(row: tuple[Any, ...]) -> Any:
        per_state, *own = row
        return work(_mixes(problem, *per_state), *own)

    return jax.lax.map(on_mixes, ((problem.outputs, problem.mask, problem.state), *args))


def _actions(problem: Problem, numbers: Int[Array, " batch"]) -> Int[Array, "batch vertices"]:
    """The actions of these numbers."""
    listed = _listed(problem)
    if listed is not None:
        return problem.extension.complete(jnp.asarray(listed)[numbers])
    sizes = problem.extension.base.sizes
    return jnp.stack(jnp.unravel_index(numbers, sizes), axis=-1).astype(jnp.int32)


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
    base, listed = problem.extension.base, _listed(problem)
    actions = (
        _actions(problem, jnp.arange(base.num_actions)) if listed is None else jnp.asarray(listed)
    )
    if mask is not None:
        # No gradient sees what is forbidden.
        outputs = jnp.where(mask[: base.num_outputs], outputs, 0.0)
    representations = base.representation(outputs, actions)
    values = jax.vmap(problem.mixer, in_axes=(0, None))(representations, state)
    if mask is None:
        return values
    return jnp.where(problem.extension.allows(mask, actions), values, -jnp.inf)
