"""The best action of any function from joint actions to values, by looking at some or all of them.

What is written here is for one state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.extension import Extension, feasible

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


def with_start(
    candidates: Int[Array, "n vertices"] | None, start: Int[Array, " all_vertices"] | None
) -> Int[Array, "m vertices"] | None:
    """Candidates and one more action, counters left out."""
    if start is None or candidates is None:
        return candidates if start is None else start[None]
    return jnp.concatenate([candidates, start[None, : candidates.shape[1]]])


def best_of_sample(
    extended: Extension,
    values: Values,
    drawn: Int[Array, "samples vertices"],
    seed: Float[Array, " numbers"],
    *,
    entries: Bool[Array, " entries"] | None = None,
    candidates: Int[Array, "n _"] | None = None,
    rounds: int = ROUNDS,
) -> Int[Array, " vertices"]:
    """The best of joint proposals, drawn evenly, improved by proposals vertex by vertex around it.

    Args:
        extended: The vertices, and the constraints on them.
        values: The function.
        drawn: What `draw` gives, which each state turns its own way to proposals.
        seed: Numbers of the state, by which it turns them.
        entries: What is allowed of the extended hypergraph's entries.
        candidates: Actions to look at beside the proposals; counters at their end are left out.
        rounds: How often the best so far is improved.
    """
    sizes = np.array(extended.base.sizes, np.int32)
    changes = jnp.asarray(changes_of(extended))

    def take(actions: Int[Array, "n vertices"]) -> Int[Array, " vertices"]:
        found = values(actions)
        if entries is None:
            return actions[jnp.argmax(found)]
        # Fewest forbidden entries first, then the value: a way out of what is forbidden.
        complete = extended.complete(actions)
        wrong = (~extended.hypergraph.representation(entries, complete)).sum(axis=-1)
        return actions[jnp.argmax(jnp.where(wrong == wrong.min(), found, -jnp.inf))]

    # Turned, so that no action is left out in all states.
    proposals = (drawn + _turn(seed, sizes)) % sizes
    if entries is not None:
        proposals = _into_allowed(extended, entries, proposals)
    if candidates is not None:
        proposals = jnp.concatenate([candidates[:, : len(sizes)], proposals])

    def improve(_: Any, action: Int[Array, " vertices"]) -> Int[Array, " vertices"]:
        around = jnp.where(changes >= 0, changes, action)
        return take(jnp.concatenate([action[None], around]))

    return jax.lax.fori_loop(0, rounds, improve, take(proposals))


def best_of_all(
    extended: Extension, values: Values, *, entries: Bool[Array, " entries"] | None = None
) -> Int[Array, " vertices"]:
    """The best of all joint actions."""
    base, listed = extended.base, None
    if extended.constraints.always:
        listed = feasible(extended.constraints, MOST)
    count = base.num_actions if listed is None else len(listed)

    def actions_of(numbers: Int[Any, "*n"]) -> Int[Array, "*n vertices"]:
        if listed is not None:
            return jnp.asarray(listed)[numbers]
        return jnp.stack(jnp.unravel_index(numbers, base.sizes), axis=-1).astype(jnp.int32)

    def of_chunk(first: Int[Array, ""]) -> Float[Array, " chunk"]:
        numbers = jnp.minimum(first + jnp.arange(min(count, FEW)), count - 1)
        actions = actions_of(numbers)
        found = values(actions)
        if entries is None:
            return found
        return jnp.where(extended.allows(entries, actions), found, -jnp.inf)

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
    extended: Extension, entries: Bool[Array, " entries"], actions: Int[Array, "n vertices"]
) -> Int[Array, "n vertices"]:
    """The same sample over the sub-actions that every hyperedge allows in some entry."""
    hypergraph, columns = extended.hypergraph, []
    for vertex, size in enumerate(extended.base.sizes):
        fine = jnp.ones(size, bool)
        for edge, part in zip(hypergraph.edges, hypergraph.slices, strict=True):
            if vertex in edge:
                table = entries[part].reshape(hypergraph.table_shape(edge))
                others = tuple(axis for axis, other in enumerate(edge) if other != vertex)
                fine &= table.any(axis=others)
        order = jnp.argsort(~fine, stable=True)
        columns.append(order[actions[:, vertex] % jnp.maximum(fine.sum(), 1)])
    return jnp.stack(columns, axis=-1).astype(jnp.int32)


@lru_cache(maxsize=64)
def changes_of(extended: Extension) -> NDArray[np.int32]:
    """Every sub-action of every vertex alone; -1 where a vertex stays.

    Where vertices are counted, also every one that leaves its default while another takes it.
    """
    sizes = extended.base.sizes
    rows = [{vertex: each} for vertex, size in enumerate(sizes) for each in range(size)]
    for counted in extended.constraints.cardinalities:
        default = dict(zip(counted.scope(), counted.defaults(), strict=True))
        rows += [
            {leaves: each, takes: default[takes]}
            for leaves in default
            for takes in default
            for each in range(sizes[leaves])
            if takes != leaves and each != default[leaves]
        ]
    changes = np.full((len(rows), len(sizes)), -1, np.int32)
    for row, change in zip(changes, rows, strict=True):
        row[list(change)] = list(change.values())
    return changes
