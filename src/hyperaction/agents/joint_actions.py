"""Joint actions as explorations draw and check them, under masks."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.exploration import AbstractActions, Actions, Masks
from hyperaction.agents.growth import on_level
from hyperaction.constraints import Mask
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import random_actions

NOTHING_ALLOWED = (
    "an action mask leaves no joint action in a state where one is needed; `no_action` default or "
    "ignore goes on there"
)


class JointActions(AbstractActions):
    """One sub-action for every vertex of a hypergraph.

    Args:
        hypergraph: The hyperedges.
        grid: The sub-actions of each vertex that may be taken, where not all may yet.
    """

    dtype = np.int32

    def __init__(self, hypergraph: Hypergraph, grid: NDArray[np.bool_] | None = None) -> None:
        self._grid = grid
        self.hypergraph, self.sizes = hypergraph, hypergraph.sizes
        self.length = hypergraph.num_vertices
        self._sizes = np.array(self.sizes, np.int32)

    def draw(self, rng: np.random.Generator, count: int, masks: Masks) -> NDArray[np.int32]:
        """So many actions, evenly from all that the masks allow."""
        if masks is None and self._grid is not None:
            return rng.choice(np.flatnonzero(self._grid).astype(np.int32), (count, self.length))
        if masks is None:
            return rng.integers(self._sizes, size=(count, self.length), dtype=np.int32)
        keys = jax.random.split(_key(rng), count)
        actions = np.asarray(_drawn(self.hypergraph, keys, self._on_grid(masks)))
        if actions.min() < 0:
            raise SettingError(NOTHING_ALLOWED)
        return actions

    def redraw(
        self, rng: np.random.Generator, actions: Actions, free: NDArray[np.bool_], masks: Masks
    ) -> Actions:
        """The actions with their free vertices drawn anew, from what is allowed with the others.

        An action that has a -1, which is none, stays as it is.
        """
        if masks is None:
            drawn = super().redraw(rng, actions, free, None)
        else:
            given = np.where(free, -1, actions).astype(np.int32)
            drawn = np.asarray(_redrawn(self.hypergraph, _key(rng), self._on_grid(masks), given))
        usable = np.minimum(actions, drawn).min(axis=1, keepdims=True) >= 0
        return np.where(usable, drawn, actions)

    def _on_grid(self, masks: Mask) -> Mask:
        """The masks with what the grid leaves of them."""
        return masks if self._grid is None else on_level(masks, self.sizes, self._grid)

    def allows(self, actions: Actions, masks: Masks) -> NDArray[np.bool_]:
        """Whether each is an action, and allowed by its mask."""
        is_action: NDArray[np.bool_] = np.all(actions >= 0, axis=1)
        if masks is None:
            return is_action if self._grid is None else is_action & self._grid[actions].all(axis=1)
        masks = self._on_grid(masks)
        real = np.where(is_action[:, None], actions, 0)
        rows = masks.rows
        if rows is not None and len(rows) != len(real):
            rows = np.broadcast_to(rows, (len(real), rows.shape[-1]))
        return is_action & masks.constraints.allows(real, rows)


@partial(jax.jit, static_argnums=0)
def _drawn(hypergraph: Hypergraph, keys: Any, masks: Any) -> jax.Array:
    return jax.vmap(partial(random_actions, hypergraph))(keys, masks)


@partial(jax.jit, static_argnums=0)
def _redrawn(hypergraph: Hypergraph, key: Any, masks: Any, given: Any) -> jax.Array:
    return random_actions(hypergraph, key, masks, given=given, shape=given.shape[:-1])


def _key(rng: np.random.Generator) -> jax.Array:
    return jax.random.key(int(rng.integers(2**31)))
