"""Rank one with a monotonic mixer: every vertex maximises for itself, in linear time."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractSoftWay, Problem, Solution
from hyperaction.maximise.log_sum import log_sum, value_and_slope
from hyperaction.mixers import AbstractMixer


class Decentralised(AbstractSoftWay):
    """Each vertex takes the best sub-action of its own hyperedge, or draws one for itself."""

    name: ClassVar[str] = "decentralised"

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        worth = _by_vertex(problem.hypergraph, problem.masked(problem.outputs))
        return Solution(jnp.argmax(worth, axis=-1).astype(jnp.int32))

    def softens(self, mixer: AbstractMixer) -> bool:
        return mixer.affine

    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        return _soft(problem.hypergraph, problem.tables(), temperature)

    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        return value_and_slope(
            lambda tables: _soft(problem.hypergraph, tables, temperature), problem.tables()
        )

    def sample(
        self, problem: Problem, temperature: Float[Array, " batch"], key: PRNGKeyArray
    ) -> Int[Array, "batch vertices"]:
        worth = _by_vertex(problem.hypergraph, problem.tables())
        noise = jax.random.gumbel(key, worth.shape, worth.dtype)
        drawn = jnp.argmax(worth + temperature[:, None, None] * noise, axis=-1)
        return drawn.astype(jnp.int32)


def _soft(
    hypergraph: Hypergraph,
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
) -> Float[Array, " batch"]:
    return log_sum(_by_vertex(hypergraph, tables), temperature[:, None], 2).sum(axis=-1)


def _by_vertex(
    hypergraph: Hypergraph, tables: Float[Array, "batch outputs"]
) -> Float[Array, "batch vertices largest"]:
    """Every vertex's table, minus infinity past its end."""
    sizes = np.array(hypergraph.sizes)
    columns = np.arange(sizes.max())
    inside = columns < sizes[:, None]
    starts = hypergraph.offsets[np.argsort([vertex for (vertex,) in hypergraph.edges])]
    place = np.where(inside, starts[:, None] + columns, 0)
    if np.array_equal(np.ravel(place), np.arange(hypergraph.num_outputs)):
        return tables.reshape(-1, *place.shape)  # Nothing moves where sizes are equal.
    return jnp.where(inside, tables[:, place], -jnp.inf)
