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
from hyperaction.agents.objectives import AbstractObjective, Losses
from hyperaction.agents.optimisers import as_optimiser
from hyperaction.agents.targets import with_update
from hyperaction.blocks import head_width
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import random_actions
from hyperaction.networks import (
    AbstractQFunction,
    AbstractValueNetwork,
    ActionInNetwork,
    Ensemble,
    LogNetwork,
    QNetwork,
)


class QLearningState(NamedTuple):
    """All that an agent learns and remembers, in one pytree."""

    online: AbstractQFunction
    target: AbstractQFunction
    optimiser: Any
    memory: Any
    """What the objective remembers."""


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
            self.action_length,
            self.config.learning_starts,
            RandomActions(self.hypergraph),
            rng,
        )

    def init(self, key: PRNGKeyArray) -> QLearningState:
        """The initial state."""
        online = self._network(key)
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        optimiser = as_optimiser(self.config.optimiser).init(online)
        return QLearningState(online, target, optimiser, self._objective.init(self.hypergraph))

    @property
    def _objective(self) -> AbstractObjective:
        objective: AbstractObjective = self.config.objective
        return objective

    def _network(self, key: PRNGKeyArray) -> AbstractQFunction:
        config, heads = self.config, self.config.heads
        mapping = self._objective.mapping(config.discount)
        if not (heads.action_in or mapping):
            network = self._mixed_network(key)
            self._check_maximiser(network)
            return network
        state_key, network_key = jax.random.split(key)
        state_network = config.network(self.observation_shape, key=state_key)
        way = config.maximise or None
        if mapping:
            return LogNetwork(
                self.hypergraph,
                state_network,
                mapping,
                mixer=config.mixer,
                width=self._head_width,
                way=way,
                key=network_key,
            )
        width = heads.total_width
        return ActionInNetwork(
            self.hypergraph, state_network, width=width, way=way, key=network_key
        )

    @property
    def _head_width(self) -> int:
        heads = self.config.heads
        return head_width(self.hypergraph.num_edges, heads.total_width, heads.width_multiple)

    def _check_maximiser(self, network: AbstractValueNetwork) -> None:
        """Refuses a way to maximise that the hyperedges, mixer or objective do not allow."""
        way, is_soft = self.config.maximise, self._objective.needs_soft_values
        if not (way or is_soft):
            return
        try:
            maximiser = network.maximiser
            if is_soft:
                maximiser.check_soft()
        except ValueError as error:
            part = f"`maximise` {getattr(way, 'name', way)}" if way else "`objective` soft"
            raise SettingError(f"{part}: {error}") from None

    def _mixed_network(self, key: PRNGKeyArray) -> AbstractValueNetwork:
        state_key, network_key = jax.random.split(key)
        config, heads = self.config, self.config.heads

        def state_network(key: PRNGKeyArray) -> Any:
            return config.network(self.observation_shape, key=key)

        def critic(state_network: Any, key: PRNGKeyArray) -> QNetwork:
            return QNetwork(
                self.hypergraph,
                state_network,
                mixer=config.mixer,
                width=self._head_width,
                dueling=heads.dueling,
                value_width=heads.total_width,
                quantiles=self._objective.quantiles,
                way=config.maximise or None,
                key=key,
            )

        if heads.critics == 1:
            return critic(state_network(state_key), network_key)
        shared = heads.shared_state
        return Ensemble(critic, state_network, critics=heads.critics, shared=shared, key=key)

    def act(
        self,
        state: QLearningState,
        observation: Num[Any, "*shape"],
        mask: Bool[Any, " entries"] | None = None,
    ) -> Int[Array, " vertices"]:
        """The greedy action."""
        return state.online.greedy(observation, mask=mask)

    def update(self, state: QLearningState, batch: Batch) -> tuple[QLearningState, UpdateInfo]:
        """One update on a batch."""
        state = state._replace(memory=self._objective.observe(state.memory, batch))
        (loss, (losses, statistics)), gradient = jax.value_and_grad(self._loss, has_aux=True)(
            state.online, state, batch
        )
        optimiser = as_optimiser(self.config.optimiser)
        online, optimiser_state = optimiser.update(state.online, gradient, state.optimiser)
        memory = self._objective.update(state.memory, statistics)
        state = QLearningState(online, state.target, optimiser_state, memory)
        if with_update(self.config.target):
            state = self.update_target(state)
        return state, UpdateInfo(loss, losses, statistics)

    def update_target(self, state: QLearningState) -> QLearningState:
        """The target network follows the online network."""
        return state._replace(target=self.config.target.update(state.online, state.target))

    def _loss(
        self, online: AbstractQFunction, state: QLearningState, batch: Batch
    ) -> tuple[Float[Array, ""], tuple[Float[Array, " batch"], dict[str, Float[Array, ""]]]]:
        candidates = batch.action if online.takes_candidates else None

        def of_one(transition: Batch) -> Losses:
            transition = transition._replace(candidates=candidates)
            return self._objective.losses(online, state.target, transition, state.memory)

        each = jax.vmap(of_one)(batch._replace(weight=None))
        losses = jax.vmap(jnp.mean)(each.losses)
        weighted = losses if batch.weight is None else batch.weight * losses
        return weighted.mean(), (losses, jax.tree.map(jnp.mean, each.statistics))


class RandomActions:
    """Draws joint actions, evenly from all that masks allow."""

    def __init__(self, hypergraph: Hypergraph) -> None:
        self._sizes = np.array(hypergraph.sizes, np.int32)
        self._allowed = jax.jit(jax.vmap(partial(random_actions, hypergraph)))

    def __call__(self, rng: np.random.Generator, count: int, masks: Masks) -> NDArray[np.int32]:
        """So many actions."""
        if masks is None:
            return rng.integers(self._sizes, size=(count, len(self._sizes)), dtype=np.int32)
        key = jax.random.key(int(rng.integers(2**31)))
        actions = np.asarray(self._allowed(jax.random.split(key, count), masks))
        if actions.min() < 0:
            raise ValueError("an action mask leaves no joint action in a state where one is needed")
        return actions
