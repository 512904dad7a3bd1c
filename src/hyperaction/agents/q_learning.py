"""The Q-learning agent: DQN, HGQN, both Rainbows and branching DQN, by its configuration."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from hyperaction.agents.batch import Batch, UpdateInfo
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.exploration import Explorer
from hyperaction.agents.joint_actions import JointActions
from hyperaction.agents.optimisers import as_optimiser
from hyperaction.agents.targets import with_update
from hyperaction.blocks import head_width
from hyperaction.hypergraph import Hypergraph
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
            JointActions(self.hypergraph),
            self.config.learning_starts,
            rng,
        )

    def init(self, key: PRNGKeyArray) -> QLearningState:
        """The initial state."""
        state_key, network_key = jax.random.split(key)
        config, heads = self.config, self.config.heads
        online = QNetwork(
            self.hypergraph,
            config.network(self.observation_shape, key=state_key),
            mixer=config.mixer,
            width=head_width(self.hypergraph.num_edges, heads.total_width, heads.width_multiple),
            dueling=heads.dueling,
            value_width=heads.total_width,
            key=network_key,
        )
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        return QLearningState(online, target, as_optimiser(config.optimiser).init(online))

    def act(
        self,
        state: QLearningState,
        observation: Num[Any, "*shape"],
        mask: Bool[Any, " entries"] | None = None,
        inputs: Any = None,
    ) -> Int[Array, " vertices"]:
        """The greedy action; with inputs, what the exploration computes from them."""
        if inputs is None:
            return state.online.greedy(observation, mask=mask)
        action: Int[Array, " vertices"] = self.config.exploration.act(
            state.online, observation, mask, inputs
        )
        return action

    def update(self, state: QLearningState, batch: Batch) -> tuple[QLearningState, UpdateInfo]:
        """One update on a batch."""
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
