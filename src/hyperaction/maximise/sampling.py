"""The maximum over a sampled set of actions, for mixers that nothing better is known for."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from hyperaction.maximise.interface import AbstractWay, Problem, Solution
from hyperaction.maximise.masks import allowed

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
                if mask is not None:
                    values = jnp.where(allowed(hypergraph, mask, actions), values, -jnp.inf)
                return actions[jnp.argmax(values)]

            # Each state turns the sample its own way, so that no action is left out in all.
            bits = jax.lax.bitcast_convert_type(outputs.astype(jnp.float32).sum(), jnp.uint32)
            turn = jax.random.randint(jax.random.fold_in(key, bits), sizes.shape, 0, sizes)
            proposals = (drawn + turn) % sizes
            if problem.candidates is not None:
                proposals = jnp.concatenate([problem.candidates.astype(jnp.int32), proposals])
            action = take(proposals)
            for _ in range(self.rounds):
                around = jnp.where(changes >= 0, changes, action)
                action = take(jnp.concatenate([action[None], around]))
            return action

        per_state = (problem.outputs, problem.mask, problem.state)
        return Solution(jax.lax.map(lambda one: best(*one), per_state))


def _single_changes(sizes: tuple[int, ...]) -> Int[Array, "n vertices"]:
    """Every sub-action of every vertex alone; -1 where a vertex stays."""
    rows = [
        [sub_action if other == vertex else -1 for other in range(len(sizes))]
        for vertex, size in enumerate(sizes)
        for sub_action in range(size)
    ]
    return jnp.array(rows, jnp.int32)
