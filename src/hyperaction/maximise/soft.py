"""The maximiser as users have it: beside the maximum, the Boltzmann distribution and the k best."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from hyperaction.constraints import Mask
from hyperaction.maximise import k_best
from hyperaction.maximise.base import AbstractSoftWay, Problem
from hyperaction.maximise.hard import HardMaximiser, check_values, flat_problem
from hyperaction.maximise.k_best import Best
from hyperaction.maximise.perturbed import drawn, perturbed_sample


class Maximiser(HardMaximiser):
    """The best joint action of any batch of states, and the distribution exp(Q / temperature).

    Made by `maximiser`. What `HardMaximiser` says of outputs, masks, states and errors holds for
    all methods. `temperature` is one number, or one per state `[...]`, at least 0: at 0 the soft
    value is the maximum, and the best action has all probability.
    """

    @property
    def softens(self) -> bool:
        """Whether it knows the distribution exactly, under its mixer."""
        return isinstance(self.way, AbstractSoftWay) and self.way.softens(self.mixer)

    def soft(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        temperature: Any,
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
    ) -> Float[Array, "*batch"]:
        """`temperature * log(sum(exp(Q / temperature)))` over all joint actions of each state.

        Its gradient in the outputs is the probability of every hyperedge's every entry, times the
        mixer's weight; its gradient in the temperature is the entropy.
        """
        arguments = self._soft_arguments(outputs, temperature, mask, state)
        values = _soft(self, *arguments)
        return self._checked(values, values, mask)

    def marginals(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        temperature: Any,
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
    ) -> Float[Array, "*batch outputs"]:
        """The probability of every hyperedge's every entry."""
        values, marginals = _marginals(
            self, *self._soft_arguments(outputs, temperature, mask, state)
        )
        return self._checked(values, marginals, mask)

    def entropy(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        temperature: Any,
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
    ) -> Float[Array, "*batch"]:
        """The entropy of each state's joint action, in nats; 0 at temperature 0."""
        values, entropies = _entropy(self, *self._soft_arguments(outputs, temperature, mask, state))
        return self._checked(values, entropies, mask)

    def log_probability(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        actions: Any,
        temperature: Any,
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
    ) -> Float[Array, "*batch"]:
        """The log of the probability of one joint action per state, `actions [..., num_vertices]`.

        Differentiable in the outputs; minus infinity where the mask forbids the action.
        """
        arguments = self._soft_arguments(outputs, temperature, mask, state)
        self.hypergraph.indices(actions)  # Raises for what is not an action.
        shape = (*arguments[0].shape[:-1], self.hypergraph.num_vertices)
        actions = jnp.broadcast_to(jnp.asarray(actions), shape)
        values, logs = _log_probability(self, *arguments, actions)
        return self._checked(values, logs, mask)

    def sample(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        temperature: Any,
        key: PRNGKeyArray,
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
        approximate: bool = False,
    ) -> Int[Array, "*batch vertices"]:
        """A joint action per state, drawn with probability proportional to exp(Q / temperature).

        With `approximate`, the maximum under random perturbations of every vertex's sub-actions:
        for any hypergraph under an affine mixer, and not the same distribution but at rank 1.
        """
        arguments = self._soft_arguments(outputs, temperature, mask, state, approximate=approximate)
        values, actions = (perturbed_sample if approximate else _sample)(self, *arguments, key)
        return self._checked(values, actions, mask)

    def best(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        k: int,
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
    ) -> Best:
        """The k best joint actions of each state and their values, from the best on.

        Where fewer are allowed, the rest have the value minus infinity and the action -1. They are
        surely the best where the maximiser is `exact`.
        """
        if k < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        outputs, mask, state, _ = self.checked(outputs, mask, state)
        found = k_best.best(self, outputs, mask, state, k)
        self._checked(found.values[..., 0], found.values, mask)
        return found

    def check_soft(self) -> None:
        """Refuses where there is no exact soft value, with the reason."""
        if not self.softens:
            raise ValueError(_refusal(self))

    def _soft_arguments(
        self, outputs: Any, temperature: Any, mask: Any, state: Any, *, approximate: bool = False
    ) -> tuple[Array, Mask | None, Array | None, Array]:
        """The arguments as arrays of the right shapes, or an error."""
        if approximate and not self.mixer.affine:
            raise ValueError(
                "approximate draws need a mixer that is a weighted sum: sum, mean, monotonic-linear"
            )
        outputs, mask, state, _ = self.checked(outputs, mask, state)
        if not approximate:
            (self if mask is None else self.under(mask.constraints)).check_soft()
        return outputs, mask, state, _checked_temperature(temperature, outputs)

    def _checked(self, values: Array, result: Array, mask: Any) -> Array:
        """The result; raises for states that have no answer, outside of compiled code."""
        if not isinstance(values, jax.core.Tracer):
            check_values(values, masked=mask is not None, exact=self.exact)
        return result


def _refusal(self: Maximiser) -> str:
    if not self.mixer.affine:
        return (
            f"{self.name} gives no soft values under a mixer that is not a weighted sum: choose "
            f"sum, mean or monotonic-linear, or way='enumeration' where joint actions are few"
        )
    return (
        f"{self.name} gives no exact soft values: leave way= out, raise budget=, or choose fewer "
        f"hyperedges, so that elimination is chosen; sample takes approximate=True"
    )


def _checked_temperature(temperature: Any, outputs: Array) -> Array:
    """One temperature per state, of the outputs' type."""
    batch = outputs.shape[:-1]
    if not isinstance(temperature, jax.core.Tracer):
        numbers = np.asarray(temperature)
        real = np.issubdtype(numbers.dtype, np.number) and np.isrealobj(numbers)
        if not real or not (np.isfinite(numbers) & (numbers >= 0)).all():
            raise ValueError(f"temperature is {temperature}; it must be finite and at least 0")
    temperature = jnp.asarray(temperature)
    try:
        fits = np.broadcast_shapes(temperature.shape, batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"temperature has shape {temperature.shape}, but the outputs have {batch} states"
        )
    return jnp.broadcast_to(temperature, batch).astype(outputs.dtype)


def _posed(
    self: Maximiser, outputs: Array, mask: Mask | None, state: Array | None, temperature: Array
) -> tuple[Problem, Array, AbstractSoftWay]:
    """The problem in one batch, its temperatures, wrong ones made 1, and the way."""
    way = (self if mask is None else self.under(mask.constraints)).way
    assert isinstance(way, AbstractSoftWay)
    problem = flat_problem(self, outputs, mask, state)
    valid = (temperature >= 0) & (temperature < jnp.inf)
    return problem, jnp.where(valid, temperature, 1.0).ravel(), way


def _finished(
    self: Maximiser, problem: Problem, values: Float[Array, " batch"], temperature: Array
) -> Float[Array, "*batch"]:
    """Soft values with the mixer's constant, and with infinities and NaN where they belong."""
    if self.mixer.affine:
        values = values + self.mixer(jnp.zeros(self.hypergraph.num_edges, values.dtype))
    most = problem.masked(problem.outputs).max(axis=-1)
    infinite = (most == jnp.inf) & (values > 0.5 * problem.largest_entry(values.dtype))
    values = jnp.where(values > -jnp.inf, values, jax.lax.stop_gradient(values))
    # Added, so that gradients pass.
    values = values + jnp.where(infinite, jnp.inf, 0.0)
    values = values + jnp.where(jnp.isnan(most), jnp.nan, 0.0)
    valid = (temperature >= 0) & (temperature < jnp.inf)
    return values.reshape(temperature.shape) + jnp.where(valid, 0.0, jnp.nan)


@jax.jit
def _soft(
    self: Maximiser, outputs: Array, mask: Mask | None, state: Array | None, temperature: Array
) -> Float[Array, "*batch"]:
    problem, flat, way = _posed(self, outputs, mask, state, temperature)
    return _finished(self, problem, way.soft(problem, flat), temperature)


def _where_possible(values: Array, x: Array) -> Array:
    """NaN where the outputs hold NaN, and 0 where no action is allowed."""
    return jnp.where(jnp.isnan(values), jnp.nan, jnp.where(values > -jnp.inf, x, 0.0))


@jax.jit
def _marginals(
    self: Maximiser, outputs: Array, mask: Mask | None, state: Array | None, temperature: Array
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch outputs"]]:
    problem, flat, way = _posed(self, outputs, mask, state, temperature)
    values, marginals = way.marginals(problem, flat)
    values = _finished(self, problem, values, temperature)
    marginals = marginals[:, : outputs.shape[-1]].reshape(outputs.shape)
    return values, _where_possible(values[..., None], marginals)


@jax.jit
def _entropy(
    self: Maximiser, outputs: Array, mask: Mask | None, state: Array | None, temperature: Array
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    problem, flat, way = _posed(self, outputs, mask, state, temperature)
    # The derivative of the soft value by the temperature is the entropy.
    values, pull = jax.vjp(lambda flat: way.soft(problem, flat), flat)
    (entropies,) = pull(jnp.ones_like(values))
    entropies = jnp.where(flat > 0, jnp.maximum(entropies, 0.0), 0.0)
    values = _finished(self, problem, values, temperature)
    return values, _where_possible(values, entropies.reshape(temperature.shape))


@jax.jit
def _log_probability(
    self: Maximiser,
    outputs: Array,
    mask: Mask | None,
    state: Array | None,
    temperature: Array,
    actions: Int[Array, "*batch vertices"],
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    problem, flat, way = _posed(self, outputs, mask, state, temperature)
    actions = actions.reshape(flat.shape[0], self.hypergraph.num_vertices)
    values = _finished(self, problem, way.soft(problem, flat), temperature)
    own = problem.values(actions).reshape(temperature.shape)
    logs = (own - values) / jnp.where(temperature > 0, temperature, 1.0)
    complete = problem.extension.complete(actions)
    greedy = _greedy_where_cold(way, jax.lax.stop_gradient(problem), flat, complete)
    certain = jnp.where(jnp.all(greedy == complete, axis=-1), 0.0, -jnp.inf)
    logs = jnp.where(temperature == 0, certain.reshape(temperature.shape), logs)
    return values, jnp.where(jnp.isnan(values), jnp.nan, logs)


@jax.jit
def _sample(
    self: Maximiser,
    outputs: Array,
    mask: Mask | None,
    state: Array | None,
    temperature: Array,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
    problem, flat, way = _posed(self, outputs, mask, state, temperature)
    problem = jax.lax.stop_gradient(problem)
    actions = _greedy_where_cold(way, problem, flat, way.sample(problem, flat, key))
    return drawn(problem, temperature, actions[:, : self.hypergraph.num_vertices])


def _greedy_where_cold(
    way: AbstractSoftWay,
    problem: Problem,
    temperature: Float[Array, " batch"],
    actions: Int[Array, "batch vertices"],
) -> Int[Array, "batch vertices"]:
    """The actions, but the maximiser's in states at temperature 0: among equals, the same one."""
    cold = temperature == 0
    greedy = jax.lax.cond(cold.any(), lambda: way.solve(problem).actions, lambda: actions)
    return jnp.where(cold[:, None], greedy, actions)
