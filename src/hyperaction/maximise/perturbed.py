"""Approximate draws past the reach of elimination: the best action under random perturbations."""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.constraints import Mask
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import Problem, solver, sum_of
from hyperaction.maximise.hard import HardMaximiser, flat_problem


@jax.jit
def perturbed_sample(
    self: HardMaximiser,
    outputs: Float[Array, "*batch outputs"],
    mask: Mask | None,
    state: Array | None,
    temperature: Float[Array, "*batch"],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
    """The best action after each sub-action got a Gumbel number times the temperature.

    At rank 1 that is an exact draw. Above, one number for every joint action would be; one for
    every sub-action of every vertex is what a maximiser can take.
    """
    hypergraph = self.hypergraph
    problem = jax.lax.stop_gradient(flat_problem(self, outputs, mask, state))
    tables = problem.tables()
    shape = (tables.shape[0], sum(hypergraph.sizes))
    noise = jax.random.gumbel(key, shape, tables.dtype) * temperature.reshape(-1, 1)
    entries, sub_actions = _places(hypergraph)
    tables = tables.at[:, entries].add(noise[:, sub_actions])
    solution = solver(self.way)(sum_of(tables, problem.hypergraph))
    return drawn(problem, temperature, solution.actions[:, : hypergraph.num_vertices])


@lru_cache(maxsize=64)
def _places(hypergraph: Hypergraph) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The entries of one hyperedge of each vertex, and the vertex's sub-action in each of them."""
    starts = np.concatenate([[0], np.cumsum(hypergraph.sizes)[:-1]])
    entries, sub_actions = [], []
    for vertex, start in enumerate(starts):
        holding = [place for place, edge in enumerate(hypergraph.edges) if vertex in edge]
        place = min(holding, key=lambda place: hypergraph.table_sizes[place])
        edge, part = hypergraph.edges[place], hypergraph.slices[place]
        entries.append(np.r_[part])
        own = np.indices(hypergraph.table_shape(edge))[edge.index(vertex)]
        sub_actions.append(start + own.ravel())
    return np.concatenate(entries).astype(np.int32), np.concatenate(sub_actions).astype(np.int32)


def drawn(
    problem: Problem, temperature: Float[Array, "*batch"], actions: Int[Array, "states vertices"]
) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
    """The values of drawn actions, and the actions, -1 throughout where there is no answer."""
    values = problem.values(actions)
    values = jnp.where(jnp.isnan(problem.masked(problem.outputs).max(axis=-1)), jnp.nan, values)
    values = values.reshape(temperature.shape)
    valid = (temperature >= 0) & (temperature < jnp.inf)
    values = jnp.where(valid, values, jnp.nan)
    actions = actions.reshape(*temperature.shape, actions.shape[-1])
    return values, jnp.where((values > -jnp.inf)[..., None], actions, -1)
