"""The Q-learning agent: DQN, HGQN and both Rainbows, by its settings."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from hyperaction.agents.settings import ValueSettings
from hyperaction.blocks import head_width
from hyperaction.hypergraph import Hypergraph
from hyperaction.losses import LOSSES, td_target
from hyperaction.networks import MLP, QNetwork


class ValueState(NamedTuple):
    """All that an agent learns and remembers, in one pytree."""

    online: QNetwork
    target: QNetwork
    optimiser: optax.OptState


class Minibatch(NamedTuple):
    """Transitions to learn from, and what each one weighs."""

    observation: Float[Array, "batch *shape"]
    action: Int[Array, "batch vertices"]
    reward: Float[Array, " batch"]
    discount: Float[Array, " batch"]
    next_observation: Float[Array, "batch *shape"]
    next_mask: Bool[Array, "batch entries"] | None
    weight: Float[Array, " batch"] | None


class Learned(NamedTuple):
    """What an update tells: its loss, and each transition's for its priority."""

    loss: Float[Array, ""]
    losses: Float[Array, " batch"]


class ValueAgent(eqx.Module):
    """The functions of a Q-learning agent; its state is passed in and out."""

    settings: ValueSettings = eqx.field(static=True)
    hypergraph: Hypergraph = eqx.field(static=True)
    observation_shape: tuple[int, ...] = eqx.field(static=True)

    def start(self, key: PRNGKeyArray) -> ValueState:
        """An agent that knows nothing."""
        state_key, network_key = jax.random.split(key)
        settings = self.settings
        state_network = MLP(
            self.observation_shape, settings.hidden, layer_norm=settings.layer_norm, key=state_key
        )
        online = QNetwork(
            self.hypergraph,
            state_network,
            mixer=settings.mixer,
            width=head_width(self.hypergraph.num_edges, settings.total_width),
            dueling=settings.dueling,
            key=network_key,
        )
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        return ValueState(online, target, self._optimiser().init(online))

    def act(
        self,
        state: ValueState,
        observation: Float[Any, "*shape"],
        mask: Bool[Any, " entries"] | None = None,
    ) -> Int[Array, " vertices"]:
        """The greedy action."""
        return state.online.greedy(observation, mask=mask)

    def learn(self, state: ValueState, batch: Minibatch) -> tuple[ValueState, Learned]:
        """One update on a minibatch."""
        (loss, losses), gradient = jax.value_and_grad(self._loss, has_aux=True)(
            state.online, state.target, batch
        )
        updates, optimiser = self._optimiser().update(gradient, state.optimiser, state.online)
        online = optax.apply_updates(state.online, updates)
        target = state.target
        if self.settings.polyak:
            target = optax.incremental_update(online, target, self.settings.polyak)
        return ValueState(online, target, optimiser), Learned(loss, losses)

    def learn_and_act(
        self,
        state: ValueState,
        batch: Minibatch,
        observation: Float[Any, "*shape"],
        mask: Bool[Any, " entries"] | None = None,
    ) -> tuple[ValueState, Learned, Int[Array, " vertices"]]:
        """One update and then the greedy action: one step's work in one program."""
        state, learned = self.learn(state, batch)
        return state, learned, self.act(state, observation, mask)

    def copy_target(self, state: ValueState) -> ValueState:
        """The target network becomes the online network."""
        return state._replace(target=jax.tree.map(jnp.copy, state.online))

    def _loss(
        self, online: QNetwork, target: QNetwork, batch: Minibatch
    ) -> tuple[Float[Array, ""], Float[Array, " batch"]]:
        next_values = jax.vmap(partial(self._next_value, online, target))(
            batch.next_observation, batch.next_mask
        )
        targets = jax.vmap(td_target)(batch.reward, batch.discount, next_values)
        values = jax.vmap(online)(batch.observation, batch.action)
        losses = jax.vmap(LOSSES[self.settings.loss])(targets - values)
        weighed = losses if batch.weight is None else batch.weight * losses
        return weighed.mean(), losses

    def _next_value(
        self,
        online: QNetwork,
        target: QNetwork,
        observation: Float[Array, "*shape"],
        mask: Bool[Array, " entries"] | None,
    ) -> Float[Array, ""]:
        if not self.settings.double:
            return target.max(observation, mask=mask)
        action = jax.lax.stop_gradient(online).greedy(observation, mask=mask)
        return target(observation, action)

    def _optimiser(self) -> optax.GradientTransformation:
        settings = self.settings
        adam = optax.adam(settings.learning_rate, eps=settings.adam_epsilon)
        if not settings.gradient_clip:
            return adam
        return optax.chain(optax.clip_by_global_norm(settings.gradient_clip), adam)
