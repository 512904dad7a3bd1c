"""Random actions, evenly from those that a mask allows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import allowed, per_output
from hyperaction.maximise.planner import maximiser

TRIES = 64


def random_actions(
    hypergraph: Hypergraph,
    key: PRNGKeyArray,
    mask: Bool[Array, "*batch entries"] | None = None,
    *,
    shape: tuple[int, ...] = (),
) -> Int[Array, "*batch vertices"]:
    """Random actions: `shape` of them, or one for each of a batch of masks, allowed by its mask.

    Drawn evenly, and again while a draw is forbidden. Where none of 64 draws is allowed, the
    allowed action of the largest sum of random tables is taken: every allowed action can come, but
    not all equally often. A mask that leaves no action raises a ValueError outside of compiled
    code, and gives -1 throughout inside it.
    """
    sizes = np.array(hypergraph.sizes, np.int32)
    if mask is None:
        return jax.random.randint(key, (*shape, len(sizes)), 0, sizes)
    if shape:
        raise ValueError("give a shape or masks, not both: there is one action for each mask")
    mask = per_output(hypergraph, jnp.asarray(mask))
    batch = mask.shape[:-1]
    draw_key, rare_key = jax.random.split(key)
    draws = jax.random.randint(draw_key, (TRIES, *batch, len(sizes)), 0, sizes)
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
