"""Adam in the form of the paper's table, where the constant is Kingma and Ba's epsilon-hat."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

BETA_1 = 0.9
BETA_2 = 0.999


class AdamState(NamedTuple):
    """The number of updates, and the running means of the gradient and of its square."""

    updates: Int[Array, ""]
    mean: Any
    square: Any


def adam(learning_rate: float, epsilon: float) -> optax.GradientTransformation:
    """Adam that adds epsilon to the root of the uncorrected mean square, as TensorFlow's does.

    Optax corrects the mean square first, so that a large epsilon weighs less in the first thousand
    updates; otherwise the two are the same.
    """

    def start(parameters: Any) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.copy, zeros))

    def update(gradient: Any, state: AdamState, parameters: Any = None) -> tuple[Any, AdamState]:
        count = optax.safe_increment(state.updates)
        mean = optax.tree.update_moment(gradient, state.mean, BETA_1, 1)
        square = optax.tree.update_moment(gradient, state.square, BETA_2, 2)
        rate = _rate(learning_rate, count)
        step = jax.tree.map(lambda m, s: -rate * m / (jnp.sqrt(s) + epsilon), mean, square)
        return step, AdamState(count, mean, square)

    return optax.GradientTransformation(start, update)


def _rate(learning_rate: float, count: Int[Array, ""]) -> Float[Array, ""]:
    return learning_rate * jnp.sqrt(1 - BETA_2**count) / (1 - BETA_1**count)
