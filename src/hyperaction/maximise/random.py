"""Random actions, evenly from those that a mask allows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import allowed, entry_mask, per_output
from hyperaction.maximise.planner import maximiser

TRIES = 64


def random_actions(
    hypergraph: Hypergraph,
    key: PRNGKeyArray,
    mask: Bool[Array, "*batch entries"] | None = None,
    *,
    shape: tuple[int, ...] = (),
    given: Int[Array, "*batch vertices"] | None = None,
) -> Int[Array, "*batch vertices"]:
    """Random actions: `shape` of them, or one for each of a batch of masks, allowed by its mask.

    Drawn evenly, and again while a draw is forbidden. Where none of 64 draws is allowed, the
    allowed action of the largest sum of random tables is taken: every allowed action can come, but
    not all equally often. A mask that leaves no action raises a ValueError outside of compiled
    code, and gives -1 throughout inside it. With `given`, sub-actions that are at least 0 stay, and
    only the others are drawn.
    """
    sizes = np.array(hypergraph.sizes, np.int32)
    if mask is None:
        if given is not None:
            raise ValueError("`given` is for masks; without one, replace what stays")
        return jax.random.randint(key, (*shape, len(sizes)), 0, sizes)
    if shape:
        raise ValueError("give a shape or masks, not both: there is one action for each mask")
    mask = per_output(hypergraph, jnp.asarray(mask))
    if given is not None:
        mask &= _consistent(hypergraph, given)
    batch = mask.shape[:-1]
    draw_key, rare_key = jax.random.split(key)
    draws = jax.random.randint(draw_key, (TRIES, *batch, len(sizes)), 0, sizes)
    if given is not None:
        draws = jnp.where(given >= 0, given, draws)
    fits = allowed(hypergraph, mask[None], draws)
    first = jnp.argmax(fits, axis=0)
    drawn = jnp.take_along_axis(draws, first[None, ..., None], axis=0)[0]
    noise = jax.random.gumbel(rare_key, (*batch, hypergraph.num_outputs))
    rare = jax.lax.cond(
        fits.any(axis=0).all(),
        lambda: drawn,
        lambda: maximiser(hypergraph).argmax(noise, mask=mask),
    )
    actions = jnp.where(fits.any(axis=0)[..., None], drawn, rare)
    if not isinstance(actions, jax.core.Tracer) and bool((actions < 0).any()):
        raise ValueError("a mask leaves no action, or none was found")
    return actions


def _consistent(
    hypergraph: Hypergraph, given: Int[Array, "*batch vertices"]
) -> Bool[Array, "*batch outputs"]:
    """The entries in which every vertex that stays has its sub-action."""
    vertices = np.repeat(np.arange(hypergraph.num_vertices), hypergraph.sizes)
    sub_actions = np.concatenate([np.arange(size) for size in hypergraph.sizes])
    stays = given[..., vertices]
    return entry_mask(hypergraph, (stays < 0) | (stays == sub_actions))
