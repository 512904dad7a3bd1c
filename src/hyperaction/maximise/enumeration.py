"""Every joint action is looked at: exact for any mixer, for spaces that are small enough."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.interface import AbstractWay
from hyperaction.mixers import AbstractMixer


class Enumeration(AbstractWay):
    """All joint actions' values are computed, one state after the other, and the best is taken."""

    name: ClassVar[str] = "enumeration"

    def argmax(
        self,
        hypergraph: Hypergraph,
        mixer: AbstractMixer,
        outputs: Float[Array, "batch outputs"],
        state: Float[Array, "batch features"] | None,
    ) -> Int[Array, "batch vertices"]:
        # State by state: the values of all actions of all states together may not fit in memory.
        if mixer.affine:
            weighted = _weighted(hypergraph, mixer, outputs)
            best = jax.lax.map(lambda one: jnp.argmax(_joint_table(hypergraph, one)), weighted)
        else:
            best = jax.lax.map(
                lambda one: jnp.argmax(_mixed(hypergraph, mixer, *one)), (outputs, state)
            )
        return jnp.stack(jnp.unravel_index(best, hypergraph.sizes), axis=-1).astype(jnp.int32)


def _weighted(
    hypergraph: Hypergraph, mixer: AbstractMixer, outputs: Float[Array, "batch outputs"]
) -> Float[Array, "batch outputs"]:
    weights = mixer.weights()
    return outputs if weights is None else outputs * weights[hypergraph.edge_of_output]


def _joint_table(
    hypergraph: Hypergraph, outputs: Float[Array, " outputs"]
) -> Float[Array, " actions"]:
    """The sum of all tables over all joint actions, small tables first."""
    total = jnp.zeros((1,) * hypergraph.num_vertices)
    for place in sorted(range(hypergraph.num_edges), key=lambda e: hypergraph.table_sizes[e]):
        edge = hypergraph.edges[place]
        shape = [size if v in edge else 1 for v, size in enumerate(hypergraph.sizes)]
        total = total + outputs[hypergraph.slices[place]].reshape(shape)
    return jnp.ravel(jnp.broadcast_to(total, hypergraph.sizes))


def _mixed(
    hypergraph: Hypergraph,
    mixer: AbstractMixer,
    outputs: Float[Array, " outputs"],
    state: Float[Array, " features"] | None,
) -> Float[Array, " actions"]:
    actions = jnp.stack(
        jnp.unravel_index(jnp.arange(hypergraph.num_actions), hypergraph.sizes), axis=-1
    )
    representations = hypergraph.representation(outputs, actions.astype(jnp.int32))
    return jax.vmap(mixer, in_axes=(0, None))(representations, state)


def entries(hypergraph: Hypergraph, mixer: AbstractMixer) -> int:
    """How many numbers one state's enumeration holds at once."""
    return hypergraph.num_actions * (1 if mixer.affine else hypergraph.num_edges)


LIMIT = int(np.iinfo(np.int32).max)
"""Past this many entries the joint actions cannot be indexed, let alone held."""
