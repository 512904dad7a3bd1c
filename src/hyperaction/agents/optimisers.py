"""Optimisers in the form of the papers' tables, in one pass over the memory where it can be.

Their forms are TensorFlow's, with which the papers' results were made: Adam's constant is Kingma
and Ba's epsilon-hat, RMSProp's stands inside the root, and its squares start at one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from hyperaction import native


class OptimiserState(NamedTuple):
    """The number of updates, and the running means of the gradient and of its square."""

    updates: Int[Array, ""]
    mean: Any
    square: Any


class AbstractOptimiser(eqx.Module):
    """An optimiser that steps by the running means of the gradient and of its square."""

    learning_rate: float = eqx.field(static=True)
    epsilon: float = eqx.field(static=True)
    gradient_clip: float = eqx.field(static=True, default=0.0)
    """The largest norm of a gradient; 0 is no limit."""

    mean_decay: ClassVar[float]
    square_decay: ClassVar[float]
    first_square: ClassVar[float]
    kernel: ClassVar[str]
    """The name of the compiled kernel that does the same."""

    def start(self, parameters: Any) -> OptimiserState:
        """The state before the first update."""
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        squares = jax.tree.map(lambda leaf: jnp.full_like(leaf, self.first_square), parameters)
        return OptimiserState(jnp.zeros((), jnp.int32), zeros, squares)

    def update(
        self, parameters: Any, gradient: Any, state: OptimiserState
    ) -> tuple[Any, OptimiserState]:
        """One update of the parameters."""
        if self.gradient_clip:
            clip = optax.clip_by_global_norm(self.gradient_clip)
            gradient, _ = clip.update(gradient, clip.init(parameters))
        count = optax.safe_increment(state.updates)
        rate = self.rate(count)
        leaves, structure = jax.tree.flatten(parameters)
        single = all(leaf.dtype == jnp.float32 for leaf in leaves)
        step: Callable[..., Any] = (
            self._in_one_pass if single and native.available() else self._step
        )
        others = [jax.tree.leaves(tree) for tree in (gradient, state.mean, state.square)]
        stepped = [step(rate, *each) for each in zip(leaves, *others, strict=True)]
        new, mean, square = (
            jax.tree.unflatten(structure, part) for part in zip(*stepped, strict=True)
        )
        return new, OptimiserState(count, mean, square)

    def _step(self, rate: Any, x: Any, gradient: Any, mean: Any, square: Any) -> Any:
        mean = (1 - self.mean_decay) * gradient + self.mean_decay * mean
        square = (1 - self.square_decay) * gradient**2 + self.square_decay * square
        return x - rate * self.direction(gradient, mean, square), mean, square

    def _in_one_pass(self, rate: Any, x: Any, gradient: Any, mean: Any, square: Any) -> Any:
        decays = (self.mean_decay, self.square_decay)
        return native.optimise(self.kernel, rate, x, gradient, mean, square, decays, self.epsilon)

    @abstractmethod
    def rate(self, count: Int[Array, ""]) -> Float[Array, ""]:
        """The step size at an update."""

    @abstractmethod
    def direction(
        self, gradient: Float[Array, "..."], mean: Float[Array, "..."], square: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """Where to go, against which the parameters move."""


class Adam(AbstractOptimiser):
    """Adam that adds epsilon to the root of the uncorrected mean square."""

    mean_decay: ClassVar[float] = 0.9
    square_decay: ClassVar[float] = 0.999
    first_square: ClassVar[float] = 0.0
    kernel: ClassVar[str] = native.ADAM

    def rate(self, count: Int[Array, ""]) -> Float[Array, ""]:
        """Corrects for means that start at zero."""
        correction = jnp.sqrt(1 - self.square_decay**count) / (1 - self.mean_decay**count)
        return self.learning_rate * correction

    def direction(
        self, gradient: Float[Array, "..."], mean: Float[Array, "..."], square: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """The mean gradient, as a share of its size."""
        return mean / (jnp.sqrt(square) + self.epsilon)


class RMSProp(AbstractOptimiser):
    """RMSProp with centred squares (Graves, 2013)."""

    mean_decay: ClassVar[float] = 0.95
    square_decay: ClassVar[float] = 0.95
    first_square: ClassVar[float] = 1.0
    kernel: ClassVar[str] = native.RMSPROP

    def rate(self, count: Int[Array, ""]) -> Float[Array, ""]:
        """Always the same."""
        return jnp.asarray(self.learning_rate)

    def direction(
        self, gradient: Float[Array, "..."], mean: Float[Array, "..."], square: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """The gradient, as a share of its deviation."""
        # Rounding may leave a little less than nothing.
        return gradient / jnp.sqrt(jnp.maximum(square - mean**2, 0.0) + self.epsilon)


OPTIMISERS: dict[str, type[AbstractOptimiser]] = {"adam": Adam, "rmsprop": RMSProp}
