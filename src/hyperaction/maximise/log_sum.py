"""Temperature times log-sum-exp, which is the maximum at temperature 0, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

COLDEST = 1e-30
"""Temperatures below it are as 0 but for ties."""


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def log_sum(
    x: Float[Array, "..."], temperature: Float[Array, "..."], axis: int
) -> Float[Array, "..."]:
    """`temperature * log(sum(exp(x / temperature)))` over an axis; minus infinity where all is.

    Args:
        x: The numbers, minus infinity for what does not count.
        temperature: Broadcast against what is left of `x` without the axis.
        axis: The axis to sum over.
    """
    top, _, _, total = _shares(x, temperature, axis)
    return jnp.squeeze(top, axis) + temperature * jnp.log(total)


@log_sum.defjvp
def _log_sum_jvp(
    axis: int, primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    x, temperature = primals
    moved, heated = tangents
    top, scaled, parts, total = _shares(x, temperature, axis)
    shares = parts / jnp.expand_dims(total, axis)
    entropy = jnp.log(total) - (shares * jnp.where(shares > 0.0, scaled, 0.0)).sum(axis)
    value = jnp.squeeze(top, axis) + temperature * jnp.log(total)
    return value, (shares * moved).sum(axis) + entropy * heated


def value_and_slope(
    function: Callable[[Float[Array, "*shape"]], Float[Array, "..."]], x: Float[Array, "*shape"]
) -> tuple[Float[Array, "..."], Float[Array, "*shape"]]:
    """A function's values and the derivative of their sum."""
    values, pull = jax.vjp(function, x)
    return values, pull(jnp.ones_like(values))[0]


def _shares(x: Array, temperature: Array, axis: int) -> tuple[Array, Array, Array, Array]:
    """The largest number, how far all are below it, their exponentials, and the sum of these."""
    top = x.max(axis=axis, keepdims=True)
    counts = top > -jnp.inf
    spread = jnp.expand_dims(jnp.broadcast_to(temperature, jnp.squeeze(top, axis).shape), axis)
    scaled = (x - jnp.where(counts, top, 0.0)) / jnp.maximum(spread, COLDEST)
    parts = jnp.exp(scaled)
    total = jnp.where(counts, parts.sum(axis=axis, keepdims=True), 1.0)
    return top, scaled, parts, jnp.squeeze(total, axis)
