"""Steps by the running means of the gradient and of its square, in one pass where it can be.

The forms are TensorFlow's, with which the papers' results were made: Adam's constant is Kingma and
Ba's epsilon-hat, RMSProp's stands inside the root, and its squares start at one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from hyperaction import kernels
from hyperaction.agents.schedules import at


class Moments(NamedTuple):
    """The number of updates, and the running means of the gradient and of its square."""

    updates: Int[Array, ""]
    mean: Any
    square: Any


class Rule(NamedTuple):
    """How an optimiser steps by these means."""

    mean_decay: float
    square_decay: float
    first_square: float
    kernel: str
    """The compiled kernel that does the same."""
    correction: Callable[[Int[Array, ""]], Any]
    """What the learning rate is multiplied by at an update."""
    direction: Callable[[Any, Any, Any, float], Any]
    """Where to go, from the gradient, its mean, its mean square and epsilon."""


def _adam_correction(count: Int[Array, ""]) -> Float[Array, ""]:
    """Corrects for means that start at zero."""
    return jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)


def _adam_direction(gradient: Any, mean: Any, square: Any, epsilon: float) -> Any:
    return mean / (jnp.sqrt(square) + epsilon)


def _rmsprop_direction(gradient: Any, mean: Any, square: Any, epsilon: float) -> Any:
    # Rounding may leave a little less than nothing.
    return gradient / jnp.sqrt(jnp.maximum(square - mean**2, 0.0) + epsilon)


ADAM = Rule(0.9, 0.999, 0.0, kernels.ADAM, _adam_correction, _adam_direction)
RMSPROP = Rule(0.95, 0.95, 1.0, kernels.RMSPROP, lambda count: 1.0, _rmsprop_direction)


def init(rule: Rule, parameters: Any) -> Moments:
    """The state before the first update."""
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    squares = jax.tree.map(lambda leaf: jnp.full_like(leaf, rule.first_square), parameters)
    return Moments(jnp.zeros((), jnp.int32), zeros, squares)


def update(
    rule: Rule,
    parameters: Any,
    gradient: Any,
    state: Moments,
    *,
    learning_rate: Any,
    epsilon: float,
    gradient_clip: float,
    weight_decay: float = 0.0,
) -> tuple[Any, Moments]:
    """One update of the parameters."""
    if gradient_clip:
        import optax  # Here, as it takes a tenth of a second to load.

        clip = optax.clip_by_global_norm(gradient_clip)
        gradient, _ = clip.update(gradient, clip.init(parameters))
    count = jnp.minimum(state.updates, 2**31 - 2) + 1  # It stops at the largest.
    rate = jnp.asarray(at(learning_rate, state.updates) * rule.correction(count))
    leaves, structure = jax.tree.flatten(parameters)
    single = all(leaf.dtype == jnp.float32 for leaf in leaves)
    step = _step_in_one_pass if single and kernels.serves(rule.kernel) else _step
    others = [jax.tree.leaves(tree) for tree in (gradient, state.mean, state.square)]
    stepped = [step(rule, epsilon, rate, *each) for each in zip(leaves, *others, strict=True)]
    new, mean, square = (jax.tree.unflatten(structure, part) for part in zip(*stepped, strict=True))
    if weight_decay:
        decay = at(learning_rate, state.updates) * weight_decay
        new = jax.tree.map(lambda x, before: x - decay * before, new, parameters)
    return new, Moments(count, mean, square)


def _step(
    rule: Rule, epsilon: float, rate: Any, x: Any, gradient: Any, mean: Any, square: Any
) -> Any:
    mean = (1 - rule.mean_decay) * gradient + rule.mean_decay * mean
    square = (1 - rule.square_decay) * gradient**2 + rule.square_decay * square
    return x - rate * rule.direction(gradient, mean, square, epsilon), mean, square


def _step_in_one_pass(
    rule: Rule, epsilon: float, rate: Any, x: Any, gradient: Any, mean: Any, square: Any
) -> Any:
    decays = (rule.mean_decay, rule.square_decay)
    return kernels.optimise(rule.kernel, rate, x, gradient, mean, square, decays, epsilon)
