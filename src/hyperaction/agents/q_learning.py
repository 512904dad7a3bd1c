"""The Q-learning agent: DQN, HGQN, both Rainbows and branching DQN, by its configuration."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.batch import Batch, UpdateInfo
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.exploration import Explorer, Masks
from hyperaction.agents.growth import limited, on_grid
from hyperaction.agents.optimisers import as_optimiser
from hyperaction.agents.restructure import check_fixed_sum
from hyperaction.agents.structure import Structure
from hyperaction.agents.targets import with_update
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import random_actions
from hyperaction.maximise.masks import entry_mask
from hyperaction.networks import QNetwork


class QLearningState(NamedTuple):
    """All that an agent learns and remembers, in one pytree."""

    online: QNetwork
    target: QNetwork
    optimiser: Any


class QLearningAgent(eqx.Module):
    """The functions of a Q-learning agent; its state is passed in and out."""

    config: QLearningConfig = eqx.field(static=True)
    hypergraph: Hypergraph = eqx.field(static=True)
    observation_shape: tuple[int, ...] = eqx.field(static=True)
    structure: Structure | None = eqx.field(static=True, default=None)
    """The hyperedges of now, where they change."""

    @property
    def width(self) -> int:
        """Hidden units of each head."""
        if self.structure is not None:
            return self.structure.width
        return self.config.heads.width_of(self.hypergraph)

    @property
    def action_length(self) -> int:
        """A sub-action for every vertex."""
        return self.hypergraph.num_vertices

    @property
    def action_dtype(self) -> type[np.generic]:
        """Sub-actions are integers."""
        return np.int32

    def explorer(self, num_envs: int, rng: np.random.Generator) -> Explorer:
        """The exploration for so many environments."""
        return Explorer(
            self.config.exploration,
            num_envs,
            self.action_length,
            self.config.learning_starts,
            RandomActions(self.hypergraph, self._grid),
            rng,
        )

    @property
    def _grid(self) -> NDArray[np.bool_] | None:
        """The sub-actions of each vertex that may be taken, where not all may yet."""
        levels = self.config.grow.levels
        if self.structure is None or self.structure.level + 1 >= len(levels):
            return None
        return on_grid(levels, self.structure.level)

    def _allowed(self, mask: Any, *batch: int) -> Any:
        """A mask, or several, with what the level leaves of it."""
        grid = self._grid
        if grid is None:
            return mask
        if mask is None:
            mask = jnp.ones((*batch, sum(self.hypergraph.sizes)), bool)
        if mask.shape[-1] != sum(self.hypergraph.sizes):  # One entry per entry of a table.
            of_grid = jnp.tile(grid, self.hypergraph.num_vertices)
            return mask & entry_mask(self.hypergraph, of_grid)
        return limited(mask, grid)

    def init(self, key: PRNGKeyArray) -> QLearningState:
        """The initial state."""
        state_key, network_key = jax.random.split(key)
        config, heads = self.config, self.config.heads
        online = QNetwork(
            self.hypergraph,
            config.network(self.observation_shape, key=state_key),
            mixer=config.mixer,
            width=self.width,
            dueling=heads.dueling,
            value_width=heads.total_width,
            key=network_key,
        )
        if config.structure.changes:
            check_fixed_sum(online)
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        return QLearningState(online, target, as_optimiser(config.optimiser).init(online))

    def act(
        self,
        state: QLearningState,
        observation: Num[Any, "*shape"],
        mask: Bool[Any, " entries"] | None = None,
    ) -> Int[Array, " vertices"]:
        """The greedy action."""
        return state.online.greedy(observation, mask=self._allowed(mask))

    def update(self, state: QLearningState, batch: Batch) -> tuple[QLearningState, UpdateInfo]:
        """One update on a batch."""
        batch = batch._replace(next_mask=self._allowed(batch.next_mask, len(batch.reward)))
        (loss, losses), gradient = jax.value_and_grad(self._loss, has_aux=True)(
            state.online, state.target, batch
        )
        optimiser = as_optimiser(self.config.optimiser)
        online, optimiser_state = optimiser.update(state.online, gradient, state.optimiser)
        state = QLearningState(online, state.target, optimiser_state)
        if with_update(self.config.target):
            state = self.update_target(state)
        return state, UpdateInfo(loss, losses)

    def update_target(self, state: QLearningState) -> QLearningState:
        """The target network follows the online network."""
        return state._replace(target=self.config.target.update(state.online, state.target))

    def _loss(
        self, online: QNetwork, target: QNetwork, batch: Batch
    ) -> tuple[Float[Array, ""], Float[Array, " batch"]]:
        each = jax.vmap(partial(self.config.objective.losses, online, target))
        losses = jax.vmap(jnp.mean)(each(batch._replace(weight=None)))
        weighted = losses if batch.weight is None else batch.weight * losses
        return weighted.mean(), losses


class RandomActions:
    """Draws joint actions, evenly from all that masks allow."""

    def __init__(self, hypergraph: Hypergraph, grid: NDArray[np.bool_] | None = None) -> None:
        self._sizes, self._grid = np.array(hypergraph.sizes, np.int32), grid
        self._allowed = jax.jit(jax.vmap(partial(random_actions, hypergraph)))

    def __call__(self, rng: np.random.Generator, count: int, masks: Masks) -> NDArray[np.int32]:
        """So many actions."""
        if self._grid is not None and masks is None:
            shape = (count, len(self._sizes))
            return rng.choice(np.flatnonzero(self._grid).astype(np.int32), shape)
        if self._grid is not None:
            masks = limited(masks, self._grid)
        if masks is None:
            return rng.integers(self._sizes, size=(count, len(self._sizes)), dtype=np.int32)
        key = jax.random.key(int(rng.integers(2**31)))
        actions = np.asarray(self._allowed(jax.random.split(key, count), masks))
        if actions.min() < 0:
            raise ValueError("an action mask leaves no joint action in a state where one is needed")
        return actions
