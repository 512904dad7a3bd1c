"""Deep deterministic policy gradients (Lillicrap et al., 2016), the continuous baseline."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.batch import Batch, UpdateInfo
from hyperaction.agents.config import DDPGConfig
from hyperaction.agents.exploration import AbstractActions, Explorer, Masks
from hyperaction.agents.targets import with_update
from hyperaction.layout import Layout
from hyperaction.losses import squared, td_target
from hyperaction.networks.combined import unpacked

NO_MASKS = "ddpg cannot obey an action mask: its actions are real numbers"

LAST_LAYER = 0.003
"""The last layers' weights start this near to zero, so that first actions and values are small."""


class Actor(eqx.Module):
    """The policy: an action from -1 to 1 for an observation."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, sizes: tuple[int, ...], *, key: PRNGKeyArray) -> None:
        self.layers = _layers(sizes[:-1], sizes[1:], key)

    def __call__(self, observation: Num[Any, "*shape"]) -> Float[Array, " action"]:
        x = jnp.ravel(observation).astype(jnp.float32)
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return jnp.tanh(self.layers[-1](x))


class Critic(eqx.Module):
    """The value of an action in a state; the action enters at the second layer."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, sizes: tuple[int, ...], action_length: int, *, key: PRNGKeyArray) -> None:
        fan_in = [sizes[0], sizes[1] + action_length, *sizes[2:-1]]
        self.layers = _layers(tuple(fan_in), sizes[1:], key)

    def __call__(
        self, observation: Num[Any, "*shape"], action: Float[Array, " action"]
    ) -> Float[Array, ""]:
        observed = jnp.ravel(observation).astype(jnp.float32)
        x = jnp.concatenate([jax.nn.relu(self.layers[0](observed)), action])
        for layer in self.layers[1:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)[0]


def _layers(
    fan_in: tuple[int, ...], fan_out: tuple[int, ...], key: PRNGKeyArray
) -> tuple[eqx.nn.Linear, ...]:
    # Equinox starts weights and biases evenly within 1 / sqrt(fan-in), as this paper does.
    keys = jax.random.split(key, len(fan_in))
    layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(fan_in, fan_out, keys, strict=True)]
    layers[-1] = jax.tree.map(lambda w: w * LAST_LAYER * math.sqrt(fan_in[-1]), layers[-1])
    return tuple(layers)


class Networks(NamedTuple):
    """The policy and the value of its actions."""

    actor: Actor
    critic: Critic


class DDPGState(NamedTuple):
    """All that an agent learns and remembers, in one pytree."""

    online: Networks
    target: Networks
    optimiser: tuple[optax.OptState, optax.OptState]


class RealActions(AbstractActions):
    """Real numbers from -1 to 1."""

    dtype = np.float32

    def __init__(self, length: int) -> None:
        self.length = length

    def draw(self, rng: np.random.Generator, count: int, masks: Masks) -> NDArray[np.float32]:
        """So many actions, evenly."""
        if masks is not None:
            raise ValueError(NO_MASKS)
        return rng.uniform(-1.0, 1.0, (count, self.length)).astype(np.float32)


class DDPGAgent(eqx.Module):
    """The functions of a DDPG agent; its state is passed in and out."""

    config: DDPGConfig = eqx.field(static=True)
    action_length: int = eqx.field(static=True)
    observation_shape: tuple[int, ...] = eqx.field(static=True)
    layout: Layout | None = eqx.field(static=True, default=None)
    """What observations hold, where they are images and numbers together."""

    @property
    def action_dtype(self) -> type[np.generic]:
        """Actions are real numbers from -1 to 1."""
        return np.float32

    def check_masks(self) -> None:
        """Refuses all action masks."""
        raise ValueError(NO_MASKS)

    def explorer(self, num_envs: int, rng: np.random.Generator) -> Explorer:
        """The exploration for so many environments."""
        return Explorer(
            self.config.exploration,
            num_envs,
            RealActions(self.action_length),
            self.config.learning_starts,
            rng,
        )

    def init(self, key: PRNGKeyArray) -> DDPGState:
        """The initial state."""
        actor_key, critic_key = jax.random.split(key)
        shape = (self.layout.length,) if self.layout else self.observation_shape
        sizes = (math.prod(shape), *self.config.hidden)
        online = Networks(
            Actor((*sizes, self.action_length), key=actor_key),
            Critic((*sizes, 1), self.action_length, key=critic_key),
        )
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        actor, critic = self._optimisers()
        return DDPGState(online, target, (actor.init(online.actor), critic.init(online.critic)))

    def act(
        self,
        state: DDPGState,
        observation: Num[Any, "*shape"],
        mask: Masks,
        inputs: Any = None,
    ) -> Float[Array, " action"]:
        """The policy's action; with inputs, what the exploration computes from them."""
        if mask is not None:
            raise ValueError(NO_MASKS)
        observation = unpacked(self.layout, observation)
        if inputs is None:
            return state.online.actor(observation)
        action: Float[Array, " action"] = self.config.exploration.act(
            state.online, observation, mask, inputs
        )
        return action

    def update(self, state: DDPGState, batch: Batch) -> tuple[DDPGState, UpdateInfo]:
        """One update of the critic and of the actor on a batch, both from the same networks."""
        if self.layout is not None:
            rows = jax.vmap(partial(unpacked, self.layout))
            observations = rows(batch.observation), rows(batch.next_observation)
            batch = batch._replace(observation=observations[0], next_observation=observations[1])
        (loss, losses), critic_gradient = jax.value_and_grad(self._critic_loss, has_aux=True)(
            state.online.critic, state.target, batch
        )
        actor_gradient = jax.grad(self._actor_loss)(state.online.actor, state.online.critic, batch)
        actor, critic = self._optimisers()
        actor_step, actor_state = actor.update(actor_gradient, state.optimiser[0])
        critic_step, critic_state = critic.update(
            critic_gradient, state.optimiser[1], state.online.critic
        )
        online = optax.apply_updates(state.online, Networks(actor_step, critic_step))
        state = DDPGState(online, state.target, (actor_state, critic_state))
        if with_update(self.config.target):
            state = self.update_target(state)
        return state, UpdateInfo(loss, losses)

    def update_target(self, state: DDPGState) -> DDPGState:
        """The target networks follow the online networks."""
        return state._replace(target=self.config.target.update(state.online, state.target))

    def _critic_loss(
        self, critic: Critic, target: Networks, batch: Batch
    ) -> tuple[Float[Array, ""], Float[Array, " batch"]]:
        next_actions = jax.vmap(target.actor)(batch.next_observation)
        next_values = jax.vmap(target.critic)(batch.next_observation, next_actions)
        targets = jax.vmap(td_target)(batch.reward, batch.discount, next_values)
        losses = jax.vmap(squared)(targets - jax.vmap(critic)(batch.observation, batch.action))
        return losses.mean(), losses

    def _actor_loss(self, actor: Actor, critic: Critic, batch: Batch) -> Float[Array, ""]:
        return -jax.vmap(critic)(batch.observation, jax.vmap(actor)(batch.observation)).mean()

    def _optimisers(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        config = self.config
        decay = optax.add_decayed_weights(config.weight_decay, _is_weight)
        critic = optax.chain(decay, optax.adam(config.learning_rate))
        return optax.adam(config.actor_learning_rate), critic


def _is_weight(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.ndim > 1, tree)
