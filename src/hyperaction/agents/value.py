"""The Q-learning agent: DQN, HGQN, both Rainbows and branching DQN, by its settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from hyperaction.agents.exploration import EpsilonGreedy
from hyperaction.agents.minibatch import Learned, Minibatch
from hyperaction.agents.optimisers import OPTIMISERS, AbstractOptimiser, OptimiserState
from hyperaction.agents.settings import ValueSettings
from hyperaction.blocks import head_width
from hyperaction.hypergraph import Hypergraph
from hyperaction.losses import LOSSES, td_target
from hyperaction.networks import MLP, NatureCNN, QNetwork


class ValueState(NamedTuple):
    """All that an agent learns and remembers, in one pytree."""

    online: QNetwork
    target: QNetwork
    optimiser: OptimiserState


class ValueAgent(eqx.Module):
    """The functions of a Q-learning agent; its state is passed in and out."""

    settings: ValueSettings = eqx.field(static=True)
    hypergraph: Hypergraph = eqx.field(static=True)
    observation_shape: tuple[int, ...] = eqx.field(static=True)

    @property
    def action_length(self) -> int:
        """A sub-action for every vertex."""
        return self.hypergraph.num_vertices

    @property
    def action_dtype(self) -> type[np.generic]:
        """Sub-actions are counted."""
        return np.int32

    def explorer(self, count: int, random: np.random.Generator) -> EpsilonGreedy:
        """What explores in so many environments."""
        return EpsilonGreedy(self.settings, self.hypergraph, count, random)

    def start(self, key: PRNGKeyArray) -> ValueState:
        """An agent that knows nothing."""
        state_key, network_key = jax.random.split(key)
        settings = self.settings
        state_network: MLP | NatureCNN
        if settings.network == "cnn":
            state_network = NatureCNN(
                self.observation_shape, padding=settings.padding.upper(), key=state_key
            )
        else:
            state_network = MLP(
                self.observation_shape,
                settings.hidden,
                layer_norm=settings.layer_norm,
                key=state_key,
            )
        online = QNetwork(
            self.hypergraph,
            state_network,
            mixer=settings.mixer,
            width=head_width(
                self.hypergraph.num_edges, settings.total_width, settings.width_multiple
            ),
            dueling=settings.dueling,
            value_width=settings.total_width,
            key=network_key,
        )
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        return ValueState(online, target, self._optimiser.start(online))

    def act(
        self,
        state: ValueState,
        observation: Num[Any, "*shape"],
        mask: Bool[Any, " entries"] | None = None,
    ) -> Int[Array, " vertices"]:
        """The greedy action."""
        return state.online.greedy(observation, mask=mask)

    def learn(self, state: ValueState, batch: Minibatch) -> tuple[ValueState, Learned]:
        """One update on a minibatch."""
        (loss, losses), gradient = jax.value_and_grad(self._loss, has_aux=True)(
            state.online, state.target, batch
        )
        online, optimiser = self._optimiser.update(state.online, gradient, state.optimiser)
        target = state.target
        if self.settings.polyak:
            target = optax.incremental_update(online, target, self.settings.polyak)
        return ValueState(online, target, optimiser), Learned(loss, losses)

    def copy_target(self, state: ValueState) -> ValueState:
        """The target network becomes the online network."""
        return state._replace(target=jax.tree.map(jnp.copy, state.online))

    def _loss(
        self, online: QNetwork, target: QNetwork, batch: Minibatch
    ) -> tuple[Float[Array, ""], Float[Array, " batch"]]:
        errors = jax.vmap(partial(self._errors, online, target))(batch._replace(weight=None))
        loss = LOSSES[self.settings.loss]
        losses = jax.vmap(lambda each: jax.vmap(loss)(each).mean())(errors)
        weighed = losses if batch.weight is None else batch.weight * losses
        return weighed.mean(), losses

    def _errors(
        self, online: QNetwork, target: QNetwork, transition: Minibatch
    ) -> Float[Array, " errors"]:
        """One temporal-difference error, or one per vertex where they learn by themselves."""
        branching = self.settings.branching
        if branching == "none":
            value = online(transition.observation, transition.action)[None]
            next_value = self._next_value(online, target, transition)[None]
        else:
            value = online.branches(transition.observation, transition.action)
            chooser = jax.lax.stop_gradient(online) if self.settings.double else target
            best = chooser.greedy(transition.next_observation, mask=transition.next_mask)
            next_value = AIMS[branching](target.branches(transition.next_observation, best))
        aim = partial(td_target, transition.reward, transition.discount)
        return jax.vmap(aim)(jnp.broadcast_to(next_value, value.shape)) - value

    def _next_value(
        self, online: QNetwork, target: QNetwork, transition: Minibatch
    ) -> Float[Array, ""]:
        observation, mask = transition.next_observation, transition.next_mask
        if not self.settings.double:
            return target.max(observation, mask=mask)
        action = jax.lax.stop_gradient(online).greedy(observation, mask=mask)
        return target(observation, action)

    @property
    def _optimiser(self) -> AbstractOptimiser:
        settings = self.settings
        make = OPTIMISERS[settings.optimiser]
        return make(settings.learning_rate, settings.optimiser_epsilon, settings.gradient_clip)


AIMS: dict[str, Callable[[Float[Array, " vertices"]], Float[Array, "..."]]] = {
    "mean": jnp.mean,
    "max": jnp.max,
    "independent": lambda values: values,
}
"""What branching DQN's vertices learn towards, from their next values (Tavakoli et al., 2018)."""
