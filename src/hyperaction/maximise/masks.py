"""Masks: which entries of the hyperedges' tables, and so which joint actions, are allowed."""

from __future__ import annotations

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph


def per_output(
    hypergraph: Hypergraph, mask: Bool[Array, "*batch entries"]
) -> Bool[Array, "*batch outputs"]:
    """A mask per hyperedge entry from one of either kind."""
    if mask.dtype != bool:
        raise ValueError(f"a mask holds true where allowed, not {mask.dtype}")
    length = mask.shape[-1] if mask.ndim else 0
    if length == hypergraph.num_outputs:
        return mask
    sub_actions = sum(hypergraph.sizes)
    if length != sub_actions:
        raise ValueError(
            f"the mask has shape {mask.shape}; its last axis must be {hypergraph.num_outputs} "
            f"long, one per hyperedge entry, or {sub_actions}, one per sub-action"
        )
    return entry_mask(hypergraph, mask)


def entry_mask(
    hypergraph: Hypergraph, mask: Bool[Array, "*batch sub_actions"]
) -> Bool[Array, "*batch outputs"]:
    """The mask per hyperedge entry that allows what a mask per sub-action allows."""
    return jnp.all(mask[..., _sub_actions(hypergraph)], axis=-1)


@lru_cache(maxsize=64)
def _sub_actions(hypergraph: Hypergraph) -> NDArray[np.int32]:
    """The sub-actions that each entry stands for, `[num_outputs, rank]`, the last one repeated."""
    starts = np.concatenate([[0], np.cumsum(hypergraph.sizes)[:-1]])
    rows = []
    for edge in hypergraph.edges:
        grid = np.indices(hypergraph.table_shape(edge)).reshape(len(edge), -1)
        columns = [starts[vertex] + axis for vertex, axis in zip(edge, grid, strict=True)]
        columns += [columns[-1]] * (hypergraph.rank - len(edge))
        rows.append(np.stack(columns, axis=-1))
    return np.concatenate(rows).astype(np.int32)


def allowed(
    hypergraph: Hypergraph,
    mask: Bool[Array, "... outputs"],
    actions: Int[Array, "... vertices"],
) -> Bool[Array, "..."]:
    """Whether every hyperedge allows its entry of the action; leading axes broadcast."""
    return jnp.all(hypergraph.representation(mask, actions), axis=-1)
