"""Random actions, evenly from those that a mask allows."""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from hyperaction.constraints import Constraints, Mask
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import as_mask
from hyperaction.maximise.planner import maximiser
from hyperaction.maximise.soft import Maximiser


def random_actions(
    hypergraph: Hypergraph,
    key: PRNGKeyArray,
    mask: Mask | Bool[Array, "*batch entries"] | None = None,
    *,
    shape: tuple[int, ...] = (),
    given: Int[Array, "*batch vertices"] | None = None,
) -> Int[Array, "*batch vertices"]:
    """Random actions: `shape` of them, or one for each of a batch of masks, allowed by its mask.

    Drawn evenly from all that are allowed, where elimination can take all constraints; else the
    best under random numbers is taken: every allowed action can come, but not all equally often. A
    mask that leaves no action raises a ValueError outside of compiled code, and gives -1 throughout
    inside it. With `given`, sub-actions that are at least 0 stay, and only the others are drawn.
    """
    sizes = np.array(hypergraph.sizes, np.int32)
    mask = as_mask(hypergraph, mask)
    if mask is None:
        if given is not None:
            raise ValueError("`given` is for masks; without one, replace what stays")
        return jax.random.randint(key, (*shape, len(sizes)), 0, sizes)
    if shape and given is None and mask.rows is not None:
        raise ValueError("give a shape or masks, not both: there is one action for each mask")
    if mask.rows is not None:
        shape = mask.rows.shape[:-1]
    worth = jnp.zeros((*shape, sum(hypergraph.sizes)))
    if given is not None:
        worth = jnp.where(_consistent(hypergraph, given), worth, -jnp.inf)
    alone = _without_values(mask.constraints)
    return alone.sample(worth, 1.0, key, mask=mask, approximate=not alone.softens)


def allowed_action(mask: Mask) -> Int[Array, "*batch vertices"]:
    """An action that is allowed, of each of a batch of masks; -1 throughout where none is."""
    shape = () if mask.rows is None else mask.rows.shape[:-1]
    alone = _without_values(mask.constraints)
    return alone.argmax(jnp.zeros((*shape, sum(mask.constraints.sizes))), mask=mask)


@lru_cache(maxsize=64)
def _without_values(constraints: Constraints) -> Maximiser:
    """What draws from all allowed actions: one hyperedge for each vertex, and constraints."""
    singles = Hypergraph.of_orders(constraints.sizes, [1])
    return maximiser(singles).under(constraints)


def _consistent(
    hypergraph: Hypergraph, given: Int[Array, "*batch vertices"]
) -> Bool[Array, "*batch sub_actions"]:
    """The sub-actions of vertices that are free, and those of vertices that stay."""
    vertices = np.repeat(np.arange(hypergraph.num_vertices), hypergraph.sizes)
    sub_actions = np.concatenate([np.arange(size) for size in hypergraph.sizes])
    stays = given[..., vertices]
    return (stays < 0) | (stays == sub_actions)
