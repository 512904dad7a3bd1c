"""Soft values by the compiled kernels, with their derivatives, in batches of any kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction import kernels
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.program import Step, encoded

Steps = tuple[Step, ...]


def soft_value(
    hypergraph: Hypergraph,
    steps: Steps,
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
) -> Float[Array, " batch"]:
    """The soft value; its derivatives are the marginals and the entropy."""
    value: Float[Array, " batch"] = _differentiable(hypergraph, steps)(tables, temperature)
    return value


def soft_marginals(
    hypergraph: Hypergraph,
    steps: Steps,
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
    *,
    entropy: bool = False,
) -> tuple[Float[Array, " batch"], Float[Array, " batch"], Float[Array, "batch outputs"]]:
    """The soft value, the entropy if asked for, and the marginals."""
    program, bounds = encoded(hypergraph, steps, operands=2), _bounds(hypergraph)
    compute = partial(kernels.soft_marginals, program=program, bounds=bounds, entropy=entropy)
    found: tuple[Array, Array, Array] = _in_one_batch(compute)(tables, temperature)
    return found


def soft_sample(
    hypergraph: Hypergraph,
    steps: Steps,
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
    key: PRNGKeyArray,
) -> Int[Array, "batch vertices"]:
    """A draw per state."""
    program, bounds = encoded(hypergraph, steps, operands=2), _bounds(hypergraph)
    seeds = jax.random.bits(key, (tables.shape[0], 2), jnp.uint32)
    draw = partial(kernels.soft_sample, program=program, bounds=bounds)
    drawn: Int[Array, "batch vertices"] = _in_one_batch(draw)(tables, temperature, seeds)
    return drawn


@lru_cache(maxsize=64)
def _differentiable(hypergraph: Hypergraph, steps: Steps) -> Callable[..., Any]:
    program, bounds = encoded(hypergraph, steps, operands=2), _bounds(hypergraph)

    @jax.custom_vjp
    def value(
        tables: Float[Array, "batch outputs"], temperature: Float[Array, " batch"]
    ) -> Float[Array, " batch"]:
        compute = partial(kernels.soft_value, program=program, bounds=bounds)
        found: Float[Array, " batch"] = _in_one_batch(compute)(tables, temperature)
        return found

    def forward(tables: Array, temperature: Array) -> tuple[Array, tuple[Array, Array, Array]]:
        found, _, marginals = soft_marginals(hypergraph, steps, tables, temperature)
        return found, (marginals, tables, temperature)

    def backward(kept: tuple[Array, Array, Array], change: Array) -> tuple[Array, Array]:
        marginals, tables, temperature = kept
        # Compiled programs leave this out where nobody asks for the slope in the temperature.
        _, entropies, _ = soft_marginals(hypergraph, steps, tables, temperature, entropy=True)
        # Minus infinity has no slope, and its entropy may be infinite.
        return marginals * change[:, None], jnp.where(change == 0, 0.0, entropies * change)

    value.defvjp(forward, backward)
    return value


@lru_cache(maxsize=64)
def _bounds(hypergraph: Hypergraph) -> NDArray[np.int32]:
    return np.append(hypergraph.offsets, hypergraph.num_outputs).astype(np.int32)


def _in_one_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """Under `jax.vmap`, all batches are one larger batch. All arguments have states first."""

    @jax.custom_batching.custom_vmap
    def call(*args: Array) -> Any:
        return function(*args)

    @call.def_vmap
    def call_batches(size: int, in_batched: list[bool], *args: Array) -> tuple[Any, Any]:
        def flat(array: Array, mapped: bool) -> Array:
            array = array if mapped else jnp.broadcast_to(array, (size, *array.shape))
            return array.reshape(size * array.shape[1], *array.shape[2:])

        result = call(*map(flat, args, in_batched))
        result = jax.tree.map(
            lambda x: x.reshape(size, x.shape[0] // max(size, 1), *x.shape[1:]), result
        )
        return result, jax.tree.map(lambda _: True, result)

    return call
