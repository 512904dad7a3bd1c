"""Targets and losses of Q-learning, one transition each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LossName = Literal["mse", "huber"]


def td_target(
    reward: Float[Array, ""], discount: Float[Array, ""], next_value: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Bootstrapped return; `discount` is zero where the episode terminated."""
    # Nothing follows a termination, not even where a mask that leaves no action says -inf.
    future = jnp.where(discount > 0, discount * next_value, 0.0)
    return jax.lax.stop_gradient(reward + future)


def squared(error: Float[Array, ""]) -> Float[Array, ""]:
    """The squared error."""
    return error**2


def huber(error: Float[Array, "..."]) -> Float[Array, "..."]:
    """Half the squared error up to one, and linear beyond (Mnih et al., 2015)."""
    size = jnp.abs(error)
    inner = jnp.minimum(size, 1.0)
    return 0.5 * inner**2 + (size - inner)


def quantile_huber(
    quantiles: Float[Array, " quantiles"], targets: Float[Array, " targets"], kappa: float
) -> Float[Array, " quantiles"]:
    """The quantile Huber loss of each quantile, over all targets (Dabney et al., 2018)."""
    count = len(quantiles)
    shares = (jnp.arange(count) + 0.5) / count
    errors = targets[None, :] - quantiles[:, None]
    weights = jnp.abs(shares[:, None] - (errors < 0))
    return (weights * kappa * huber(errors / kappa)).mean(axis=-1)


LOSSES: dict[LossName, Callable[[Float[Array, ""]], Float[Array, ""]]] = {
    "mse": squared,
    "huber": huber,
}
