"""Observations normalised by their running mean and variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, Shaped

from hyperaction.errors import SettingError

LONGEST_MEMORY = 1_000_000
"""Observations after which old ones count less and less."""

LIMIT = 10.0
"""Normalised observations are cut to plus and minus this."""


class Normalised(eqx.Module):
    """A state network that is given normalised observations.

    What it knows of observations is part of the network, saved and loaded with it, but not learned:
    no gradient reaches it.

    Args:
        inner: The state network.
        observation_shape: The shape of an observation.
    """

    inner: Callable[[Any], Any]
    mean: Float[Array, "*shape"]
    variance: Float[Array, "*shape"]
    count: Float[Array, ""]

    def __init__(self, inner: Callable[[Any], Any], observation_shape: tuple[int, ...]) -> None:
        if len(observation_shape) == 3:
            raise SettingError(
                f"`normalise_observations` is for vectors, not for images of shape "
                f"{observation_shape}"
            )
        self.inner = inner
        self.mean = jnp.zeros(observation_shape)
        self.variance = jnp.ones(observation_shape)
        self.count = jnp.zeros(())

    @property
    def features(self) -> int:
        """The length of the state network's output."""
        return int(self.inner.features)  # type: ignore[attr-defined]

    def __call__(self, observation: Shaped[Any, "..."]) -> Any:
        mean, variance = jax.lax.stop_gradient((self.mean, self.variance))
        x = (jnp.asarray(observation, jnp.float32) - mean) / jnp.sqrt(variance + 1e-6)
        return self.inner(jnp.clip(x, -LIMIT, LIMIT))

    def updated(self, observations: Num[Array, "batch *shape"]) -> tuple[Array, Array, Array]:
        """The mean, variance and count with a batch of observations added."""
        x = observations.astype(jnp.float32)
        mean, variance, added = x.mean(axis=0), x.var(axis=0), len(x)
        total = self.count + added
        share, apart = added / total, mean - self.mean
        old = self.variance * (1 - share) + variance * share + apart**2 * share * (1 - share)
        return self.mean + share * apart, old, jnp.minimum(total, LONGEST_MEMORY)


def with_statistics(network: Any, statistics: tuple[Array, Array, Array]) -> Any:
    """A network whose state network knows these."""

    def of(network: Any) -> Any:
        known = network.state_network
        return known.mean, known.variance, known.count

    return eqx.tree_at(of, network, statistics)
