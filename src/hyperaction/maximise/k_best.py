"""The k best joint actions, by maximising over ever smaller sets of them (Lawler, 1972).

The actions that are left when the best one is taken out are parted by the first vertex where they
differ from it. Each part is what a mask on sub-actions leaves, so its best action is found as any
other; the best of all parts is the next to be taken out.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from hyperaction.constraints import Constraints, Mask
from hyperaction.maximise.hard import HardMaximiser, find


class Best(NamedTuple):
    """The best values, from the largest on, and their actions."""

    values: Float[Array, "*batch k"]
    actions: Int[Array, "*batch k vertices"]


class Parts(NamedTuple):
    """Sets of actions of each state that share none: what is left to look at."""

    values: Float[Array, "batch parts"]
    actions: Int[Array, "batch parts vertices"]
    masks: Bool[Array, "batch parts sub_actions"]
    fixed: Int[Array, "batch parts"]
    """The first vertices that have one sub-action left."""


@partial(jax.jit, static_argnames="k")
def best(
    self: HardMaximiser,
    outputs: Float[Array, "*batch outputs"],
    mask: Mask | None,
    state: Float[Array, "*batch features"] | None,
    k: int,
) -> Best:
    """The k best actions of each state."""
    n = self.hypergraph.num_vertices
    batch, count = outputs.shape[:-1], math.prod(outputs.shape[:-1])

    def per_part(array: Any) -> Any:
        return None if array is None else array.reshape(count, 1, array.shape[-1])

    if mask is not None:
        mask = Mask(per_part(mask.rows), mask.constraints)
    given = per_part(outputs), mask, per_part(state)
    first_values, first_actions, _ = find(self, *given, None, bounded=False)
    room = max(k - 1, 1) * n
    pool = Parts(
        jnp.pad(first_values, ((0, 0), (0, room)), constant_values=-jnp.inf),
        jnp.pad(first_actions, ((0, 0), (0, room), (0, 0)), constant_values=-1),
        jnp.ones((count, 1 + room, sum(self.hypergraph.sizes)), bool),
        jnp.zeros((count, 1 + room), jnp.int32),
    )

    def take(pool: Parts, step: Int[Array, ""]) -> tuple[Parts, tuple[Array, Array]]:
        rows, top = jnp.arange(count), jnp.argmax(pool.values, axis=1)
        taken = Parts(*(each[rows, top] for each in pool))
        pool = pool._replace(values=pool.values.at[rows, top].set(-jnp.inf))
        new = _solve(self, given, *_split(self, taken))
        put = partial(jax.lax.dynamic_update_slice_in_dim, start_index=1 + step * n, axis=1)
        return Parts(*map(put, pool, new)), (taken.values, taken.actions)

    pool, (values, actions) = jax.lax.scan(take, pool, jnp.arange(k - 1))
    last = jnp.argmax(pool.values, axis=1)[:, None]
    values = jnp.concatenate([values.T, jnp.take_along_axis(pool.values, last, axis=1)], axis=1)
    last_actions = jnp.take_along_axis(pool.actions, last[..., None], axis=1)
    actions = jnp.concatenate([actions.transpose(1, 0, 2), last_actions], axis=1)
    # A way that is not exact may find a better action later.
    order = jnp.argsort(-values, axis=1, stable=True)
    ordered = jnp.take_along_axis(values, order, axis=1)
    values = jnp.where(jnp.isnan(values[:, :1]), jnp.nan, ordered)
    actions = jnp.take_along_axis(actions, order[..., None], axis=1)
    actions = jnp.where((values > -jnp.inf)[..., None], actions, -1)
    return Best(values.reshape(*batch, k), actions.reshape(*batch, k, n))


def _solve(
    self: HardMaximiser,
    given: tuple[Array, Mask | None, Array | None],
    masks: Bool[Array, "batch parts sub_actions"],
    fixed: Int[Array, "batch parts"],
) -> Parts:
    """The best action of each part, given outputs, mask and state."""
    outputs, mask, state = given
    constraints = Constraints(self.hypergraph.sizes) if mask is None else mask.constraints
    further = constraints.num_entries - masks.shape[-1]
    rows = jnp.pad(masks, ((0, 0), (0, 0), (0, further)), constant_values=True)
    if mask is not None and mask.rows is not None:
        rows &= mask.rows
    if state is not None:
        state = jnp.broadcast_to(state, (*fixed.shape, state.shape[-1]))
    outputs = jnp.broadcast_to(outputs, (*fixed.shape, outputs.shape[-1]))
    parts = Mask(rows, constraints)
    values, actions, _ = find(self, outputs, parts, state, None, bounded=False)
    return Parts(values, actions, masks, fixed)


def _split(self: HardMaximiser, taken: Parts) -> tuple[Array, Array]:
    """One part per vertex: those before it as in the taken action, and itself not."""
    sizes = np.array(self.hypergraph.sizes)
    n = len(sizes)
    vertex_of = np.repeat(np.arange(n), sizes)
    sub_action = np.concatenate([np.arange(size) for size in sizes])
    chosen = taken.actions[:, vertex_of] == sub_action  # [batch, sub_actions]
    part = np.arange(n)[:, None]
    keeps = jnp.where(vertex_of < part, chosen[:, None], True)
    leaves = jnp.where(vertex_of == part, ~chosen[:, None], True)
    real = (taken.fixed[:, None] <= part[:, 0]) & (taken.values > -jnp.inf)[:, None]
    masks = taken.masks[:, None] & keeps & leaves & real[..., None]
    return masks, jnp.broadcast_to(part[:, 0].astype(np.int32), real.shape)
