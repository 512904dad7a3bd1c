"""Rank one with a monotonic mixer: every vertex maximises for itself, in linear time."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.interface import AbstractWay
from hyperaction.mixers import AbstractMixer


class Decentralised(AbstractWay):
    """Each vertex takes the best sub-action of its own hyperedge."""

    name: ClassVar[str] = "decentralised"

    def argmax(
        self,
        hypergraph: Hypergraph,
        mixer: AbstractMixer,
        outputs: Float[Array, "batch outputs"],
        state: Float[Array, "batch features"] | None,
    ) -> Int[Array, "batch vertices"]:
        sizes = np.array(hypergraph.sizes)
        columns = np.arange(sizes.max())
        inside = columns < sizes[:, None]
        starts = hypergraph.offsets[np.argsort([vertex for (vertex,) in hypergraph.edges])]
        tables = outputs[:, np.where(inside, starts[:, None] + columns, 0)]
        return jnp.argmax(jnp.where(inside, tables, -jnp.inf), axis=-1).astype(jnp.int32)
