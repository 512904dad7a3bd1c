"""Rank one with a monotonic mixer: every vertex maximises for itself, in linear time."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from hyperaction.maximise.base import AbstractWay, Problem, Solution


class Decentralised(AbstractWay):
    """Each vertex takes the best sub-action of its own hyperedge."""

    name: ClassVar[str] = "decentralised"

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        hypergraph = problem.hypergraph
        sizes = np.array(hypergraph.sizes)
        columns = np.arange(sizes.max())
        inside = columns < sizes[:, None]
        starts = hypergraph.offsets[np.argsort([vertex for (vertex,) in hypergraph.edges])]
        place = np.where(inside, starts[:, None] + columns, 0)
        outputs = problem.masked(problem.outputs)
        if np.array_equal(np.ravel(place), np.arange(hypergraph.num_outputs)):
            tables = outputs.reshape(-1, *place.shape)  # Nothing moves where sizes are equal.
        else:
            tables = jnp.where(inside, outputs[:, place], -jnp.inf)
        return Solution(jnp.argmax(tables, axis=-1).astype(jnp.int32))
