"""Logarithmic values: two sets of tables, whose mixes are logarithms of what is won and lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.blocks import Blocks
from hyperaction.hypergraph import Hypergraph
from hyperaction.mixers import AbstractMixer, MakeMixer, Sum, as_mixer
from hyperaction.networks.searched import AbstractSearchedNetwork

LARGEST = 80.0
"""The largest exponent: single precision holds no more than that of 88."""


@dataclass(frozen=True)
class LogMapping:
    """Maps values to logarithms and back, for two heads: of what is won, and of what is lost.

    Args:
        c: How far apart logarithms lie.
        lowest: The lowest value that has a logarithm.
        horizon: What a reward of 1 at every step is worth, from now on.
        inits: The values whose logarithm is zero, one per head.
    """

    c: float
    lowest: float
    horizon: float = math.inf
    inits: tuple[float, float] = (0.0, 0.0)

    @property
    def _zeros(self) -> Float[Array, " heads"]:
        return jnp.log(jnp.array([max(self.lowest, value) for value in self.inits]))

    def highest(self, reward: Float[Array, ""]) -> Float[Array, ""]:
        """The highest value of a state where no reward is larger than this."""
        return jnp.where(reward > 0, reward * self.horizon, 0.0)

    def values(self, logs: Float[Array, "*n heads"]) -> Float[Array, "*n heads"]:
        """The values of logarithms; finite, so that differences are numbers."""
        return jnp.exp(jnp.minimum(logs / self.c + self._zeros, LARGEST))

    def toward(
        self, logs: Float[Array, " heads"], samples: Float[Array, " heads"], share: float
    ) -> Float[Array, " heads"]:
        """The logarithms of averages of values and positive samples, the samples having a share."""
        own, sampled = logs / self.c + self._zeros, jnp.log(samples)
        average = jnp.logaddexp(own + jnp.log1p(-share), sampled + jnp.log(share))
        return self.c * (average - self._zeros)


class LogNetwork(AbstractSearchedNetwork):
    """Action values Q(s, a) as what is won less what is lost, each learned as a logarithm.

    Both have an output of their own for every entry of the hyperedges' tables, on shared heads, and
    a mixer of their own. Logarithms do not add over hyperedges, so it is the mix that is mapped.

    Args:
        hypergraph: The hyperedges on the action's vertices.
        state_network: From an observation to features: one of ours or any callable pytree.
        mapping: From values to logarithms.
        mixer: As `QNetwork` takes it.
        width: Hidden units per head; by default the paper's heuristic.
        way: How best actions are found; by default by the number of joint actions.
    """

    unexplained: ClassVar[str] = (
        "its values are differences of exponentials, which cannot be split over hyperedges"
    )

    state_network: Callable[[Any], Float[Array, " features"]]
    blocks: Blocks
    mixers: tuple[AbstractMixer, AbstractMixer]
    mapping: LogMapping = eqx.field(static=True)
    hypergraph: Hypergraph = eqx.field(static=True)
    way: str | None = eqx.field(static=True)

    def __init__(
        self,
        hypergraph: Hypergraph,
        state_network: Any,
        mapping: LogMapping,
        *,
        mixer: AbstractMixer | MakeMixer | str = Sum(),
        width: int | None = None,
        way: str | None = None,
        key: PRNGKeyArray,
    ) -> None:
        blocks_key, won_key, lost_key = jax.random.split(key, 3)
        features = state_network.features
        self.blocks = Blocks(hypergraph, features, width, quantiles=2, key=blocks_key)
        won, lost = (as_mixer(mixer, hypergraph, features, key) for key in (won_key, lost_key))
        # A copy, where one mixer was given: each learns by itself.
        self.mixers = (won, jax.tree.map(jnp.copy, lost))
        self.state_network, self.mapping = state_network, mapping
        self.hypergraph, self.way = hypergraph, way
        self.check_way()

    def features(self, observation: Any) -> tuple[Array, Array]:
        """Both heads' outputs, `[2, num_outputs]`, and what mixers take beside them."""
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        return jnp.stack([self.blocks.quantile(n).outputs(heads) for n in range(2)]), state

    def values_of(
        self, features: tuple[Array, Array], actions: Int[Any, "n vertices"]
    ) -> Float[Array, " n"]:
        """The values of several actions of one state."""
        outputs, state = features
        logs = [
            jax.vmap(mixer, in_axes=(0, None))(
                self.hypergraph.representation(table, actions), state
            )
            for mixer, table in zip(self.mixers, outputs, strict=True)
        ]
        won, lost = self.mapping.values(jnp.stack(logs, axis=-1)).T
        return won - lost

    def logs(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " heads"]:
        """The logarithms of what an action wins and loses in this state."""
        state = self.state_network(observation)
        both = self.blocks.quantiles(self.blocks.heads(state), action)
        mixes = [mixer(each, state) for mixer, each in zip(self.mixers, both, strict=True)]
        return jnp.stack(mixes)

    def __call__(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, ""]:
        """The value of an action in this state."""
        won, lost = self.mapping.values(self.logs(observation, action))
        return won - lost
