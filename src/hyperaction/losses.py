"""Targets and losses of Q-learning, one transition each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LossName = Literal["mse", "huber"]

UNROLLED = 5
"""Targets that the quantile loss adds in one turn of its loop."""


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
    quantiles: Float[Array, " quantiles"],
    targets: Float[Array, " targets"],
    kappa: float,
    weights: Float[Array, " targets"] | None = None,
) -> Float[Array, " quantiles"]:
    """The quantile Huber loss of each quantile, over all targets (Dabney et al., 2018).

    Differentiable in the quantiles alone.
    """
    shares = (jnp.arange(len(quantiles)) + 0.5) / len(quantiles)
    fixed = jax.lax.stop_gradient(quantiles)
    weights = jnp.ones_like(targets) if weights is None else weights

    # Target by target, losses and slopes together: XLA takes several times as long for all at once.
    def add(
        sums: tuple[Array, Array], one: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], None]:
        target, weight = one
        error = target - fixed
        weight = weight * jnp.abs(shares - (error < 0))
        slope = jnp.clip(error / kappa, -1.0, 1.0)
        return (sums[0] + weight * kappa * huber(error / kappa), sums[1] - weight * slope), None

    zeros = jnp.zeros_like(fixed)
    targets, weights = jax.lax.stop_gradient((targets, weights))
    (losses, slopes), _ = jax.lax.scan(add, (zeros, zeros), (targets, weights), unroll=UNROLLED)
    return (losses + slopes * (quantiles - fixed)) / weights.sum()


def without_largest(values: Float[Array, " n"], count: int) -> Float[Array, " n"]:
    """One for each value, but zero for so many of the largest; of equals, the first go."""
    # Compared with one another: XLA's sort takes longer than all the rest of the loss.
    place = jnp.arange(len(values))
    other, own = values[:, None], values[None, :]
    before = (other > own) | ((other == own) & (place[:, None] < place[None, :]))
    return (before.sum(axis=0) >= count).astype(values.dtype)


LOSSES: dict[LossName, Callable[[Float[Array, ""]], Float[Array, ""]]] = {
    "mse": squared,
    "huber": huber,
}
