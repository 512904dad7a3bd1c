"""The best action of any function from joint actions to values, by looking at some or all of them.

What is written here is for one state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import allowed

SAMPLES = 1024
"""Joint proposals of a state."""
ROUNDS = 2
"""How often the best so far is improved, vertex by vertex."""

FEW = 4_096
"""So many joint actions are all looked at rather than sampled."""
MOST = 10_000_000
"""More joint actions are not all looked at even if that is asked for."""

Values = Callable[[Int[Array, "n vertices"]], Float[Array, " n"]]
"""The values of joint actions of one state."""


def draw(hypergraph: Hypergraph, samples: int = SAMPLES) -> Int[Array, "samples vertices"]:
    """Joint actions, drawn evenly; always the same, as the same inputs give the same action."""
    sizes = np.array(hypergraph.sizes, np.int32)
    drawn = jax.random.randint(jax.random.key(0), (samples, len(sizes)), 0, sizes)
    return drawn.astype(jnp.int32)


def best_of_sample(
    hypergraph: Hypergraph,
    values: Values,
    drawn: Int[Array, "samples vertices"],
    seed: Float[Array, " numbers"],
    *,
    mask: Bool[Array, " outputs"] | None = None,
    candidates: Int[Array, "n vertices"] | None = None,
    rounds: int = ROUNDS,
) -> Int[Array, " vertices"]:
    """The best of joint proposals, drawn evenly, improved by proposals vertex by vertex around it.

    Args:
        hypergraph: The vertices, and the hyperedges that the mask is about.
        values: The function.
        drawn: What `draw` gives, which each state turns its own way to proposals.
        seed: Numbers of the state, by which it turns them.
        mask: What is allowed, per hyperedge entry.
        candidates: Actions to look at beside the proposals.
        rounds: How often the best so far is improved.
    """
    sizes = np.array(hypergraph.sizes, np.int32)
    changes = _single_changes(hypergraph.sizes)

    def take(actions: Int[Array, "n vertices"]) -> Int[Array, " vertices"]:
        found = values(actions)
        if mask is None:
            return actions[jnp.argmax(found)]
        # Fewest forbidden entries first, then the value: a way out of what is forbidden.
        wrong = (~hypergraph.representation(mask, actions)).sum(axis=-1)
        return actions[jnp.argmax(jnp.where(wrong == wrong.min(), found, -jnp.inf))]

    # Turned, so that no action is left out in all states.
    proposals = (drawn + _turn(seed, sizes)) % sizes
    if mask is not None:
        proposals = _into_allowed(hypergraph, mask, proposals)
    if candidates is not None:
        proposals = jnp.concatenate([candidates, proposals])
    action = take(proposals)
    for _ in range(rounds):
        around = jnp.where(changes >= 0, changes, action)
        action = take(jnp.concatenate([action[None], around]))
    return action


def best_of_all(
    hypergraph: Hypergraph, values: Values, *, mask: Bool[Array, " outputs"] | None = None
) -> Int[Array, " vertices"]:
    """The best of all joint actions."""
    count = hypergraph.num_actions

    def actions_of(numbers: Int[Any, "*n"]) -> Int[Array, "*n vertices"]:
        return jnp.stack(jnp.unravel_index(numbers, hypergraph.sizes), axis=-1).astype(jnp.int32)

    def of_chunk(first: Int[Array, ""]) -> Float[Array, " chunk"]:
        numbers = jnp.minimum(first + jnp.arange(min(count, FEW)), count - 1)
        actions = actions_of(numbers)
        found = values(actions)
        if mask is None:
            return found
        return jnp.where(allowed(hypergraph, mask, actions), found, -jnp.inf)

    # Chunk by chunk: what many actions' values are computed from may not fit in memory.
    found = jax.lax.map(of_chunk, jnp.arange(0, count, FEW)).ravel()
    return actions_of(jnp.minimum(jnp.argmax(found), count - 1))


def check_all_fit(hypergraph: Hypergraph) -> None:
    """Refuses to look at all of too many joint actions."""
    if hypergraph.num_actions > MOST:
        raise ValueError(
            f"enumeration cannot fit: there are {hypergraph.num_actions:,} joint actions; "
            f"sampling can"
        )


def _turn(numbers: Float[Array, " numbers"], sizes: NDArray[np.int32]) -> Int[Array, " vertices"]:
    """One shift per vertex, from the numbers' bits: the same however states are batched."""
    bits = jax.lax.bitcast_convert_type(numbers.astype(jnp.float32), jnp.uint32)
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
