"""The maximum over a sampled set of actions, for mixers that nothing better is known for."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay, Problem, Solution

SAMPLES = 1024
ROUNDS = 2


class Sampling(AbstractWay):
    """Joint proposals, drawn evenly, then proposals vertex by vertex around the best so far.

    Candidates, such as the actions seen in a batch, are looked at too.
    """

    name: ClassVar[str] = "sampling"
    samples: int = eqx.field(static=True)
    rounds: int = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return False

    def solve(self, problem: Problem) -> Solution:
        hypergraph = problem.hypergraph
        sizes = np.array(hypergraph.sizes, np.int32)
        key = jax.random.key(0)  # The same inputs give the same action.
        shape = (self.samples, hypergraph.num_vertices)
        drawn = jax.random.randint(key, shape, 0, sizes).astype(jnp.int32)
        changes = _single_changes(hypergraph.sizes)

        def best(
            outputs: Float[Array, " outputs"], mask: Array | None, state: Array | None
        ) -> Int[Array, " vertices"]:
            def take(actions: Int[Array, "n vertices"]) -> Int[Array, " vertices"]:
                representations = hypergraph.representation(outputs, actions)
                values = jax.vmap(problem.mixer, in_axes=(0, None))(representations, state)
                if mask is None:
                    return actions[jnp.argmax(values)]
                # Fewest forbidden entries first, then the value: a way out of what is forbidden.
                wrong = (~hypergraph.representation(mask, actions)).sum(axis=-1)
                return actions[jnp.argmax(jnp.where(wrong == wrong.min(), values, -jnp.inf))]

            # Each state turns the sample its own way, so that no action is left out in all.
            proposals = (drawn + _turn(outputs, sizes)) % sizes
            if mask is not None:
                proposals = _into_allowed(hypergraph, mask, proposals)
            if problem.candidates is not None:
                proposals = jnp.concatenate([problem.candidates, proposals])
            action = take(proposals)
            for _ in range(self.rounds):
                around = jnp.where(changes >= 0, changes, action)
                action = take(jnp.concatenate([action[None], around]))
            return action

        per_state = (problem.outputs, problem.mask, problem.state)
        return Solution(jax.lax.map(lambda one: best(*one), per_state))


def _turn(outputs: Float[Array, " outputs"], sizes: NDArray[np.int32]) -> Int[Array, " vertices"]:
    """One shift per vertex, from the bits of the outputs: the same however states are batched."""
    bits = jax.lax.bitcast_convert_type(outputs.astype(jnp.float32), jnp.uint32)
    mixed = (bits ^ (bits >> 15)) * jnp.uint32(0x2C1B3C6D)
    scattered = mixed.sum() * (
        2 * jnp.arange(len(sizes), dtype=jnp.uint32) + jnp.uint32(0x9E3779B1)
    )
    return (scattered >> 8).astype(jnp.int32) % sizes


def _into_allowed(
    hypergraph: Hypergraph, mask: Bool[Array, " outputs"], actions: Int[Array, "n vertices"]
) -> Int[Array, "n vertices"]:
    """The same sample over the sub-actions that every hyperedge allows in some entry."""
    columns = []
    for vertex, size in enumerate(hypergraph.sizes):
        fine = jnp.ones(size, bool)
        for edge, part in zip(hypergraph.edges, hypergraph.slices, strict=True):
            if vertex in edge:
                table = mask[part].reshape(hypergraph.table_shape(edge))
                others = tuple(axis for axis, other in enumerate(edge) if other != vertex)
                fine &= table.any(axis=others)
        order = jnp.argsort(~fine, stable=True)
        columns.append(order[actions[:, vertex] % jnp.maximum(fine.sum(), 1)])
    return jnp.stack(columns, axis=-1).astype(jnp.int32)


def _single_changes(sizes: tuple[int, ...]) -> Int[Array, "n vertices"]:
    """Every sub-action of every vertex alone; -1 where a vertex stays."""
    rows = [
        [sub_action if other == vertex else -1 for other in range(len(sizes))]
        for vertex, size in enumerate(sizes)
        for sub_action in range(size)
    ]
    return jnp.array(rows, jnp.int32)
