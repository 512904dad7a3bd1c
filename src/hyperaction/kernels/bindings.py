"""Calls of the kernels in compiled JAX programs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32
from numpy.typing import NDArray

from hyperaction.kernels.library import target

ADAM = "adam"
RMSPROP = "rmsprop"


def eliminate(
    tables: Float[Array, "batch outputs"], program: NDArray[np.int32]
) -> Int[Array, "batch vertices"]:
    """The best action of every state, by a program of eliminations."""
    result = jax.ShapeDtypeStruct((tables.shape[0], int(program[1])), jnp.int32)  # type: ignore[no-untyped-call]
    # Programs keep their shape under vmap but for leading ones, which the kernel does not see.
    return jax.ffi.ffi_call(target("eliminate"), result, vmap_method="expand_dims")(
        tables.astype(jnp.float32), program
    )


def search(
    tables: Float[Array, "batch outputs"],
    structure: NDArray[np.int32],
    *,
    steps: int,
    sweeps: int = 0,
    nodes: int = 0,
    seed: int = 0,
    start: Int[Array, "batch vertices"] | None = None,
) -> tuple[Int[Array, "batch vertices"], Float[Array, " batch"]]:
    """A good action of every state, and an upper bound of all actions' sums.

    Args:
        tables: The outputs of every state.
        structure: The hypergraph, as `hyperaction.maximise.search.structure` encodes it.
        steps: Steps of tabu search.
        sweeps: Sweeps of messages that tighten the bound, which is infinite if 0.
        nodes: Nodes of branch and bound, which comes last; below 0, it does not.
        seed: The seed of the tabu search.
        start: The actions that the search starts from; zeros by default.
    """
    vertices = int(structure[1])
    results = (
        jax.ShapeDtypeStruct((tables.shape[0], vertices), jnp.int32),  # type: ignore[no-untyped-call]
        jax.ShapeDtypeStruct((tables.shape[0],), jnp.float32),  # type: ignore[no-untyped-call]
    )
    start = jnp.zeros((1, vertices), jnp.int32) if start is None else start
    options = {"steps": steps, "sweeps": sweeps, "nodes": nodes, "seed": seed}
    numbers = {name: np.int64(value) for name, value in options.items()}
    actions, bounds = jax.ffi.ffi_call(target("search"), results, vmap_method="expand_dims")(
        tables.astype(jnp.float32), start, structure, **numbers
    )
    return actions, bounds


def soft_value(
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
    program: NDArray[np.int32],
    bounds: NDArray[np.int32],
) -> Float[Array, " batch"]:
    """The temperature times the log of the sum of exp(value / temperature) over all actions.

    Args:
        tables: The outputs of every state.
        temperature: Of every state.
        program: A program of eliminations.
        bounds: Where each table starts, and where the last one ends.
    """
    result = jax.ShapeDtypeStruct(temperature.shape, jnp.float32)  # type: ignore[no-untyped-call]
    return jax.ffi.ffi_call(target("soft_value"), result)(tables, temperature, program, bounds)


def soft_marginals(
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
    program: NDArray[np.int32],
    bounds: NDArray[np.int32],
    *,
    entropy: bool,
) -> tuple[Float[Array, " batch"], Float[Array, " batch"], Float[Array, "batch outputs"]]:
    """The soft value, the entropy if asked for, and every entry's probability."""
    one = jax.ShapeDtypeStruct(temperature.shape, jnp.float32)  # type: ignore[no-untyped-call]
    results = (one, one, jax.ShapeDtypeStruct(tables.shape, jnp.float32))  # type: ignore[no-untyped-call]
    values, entropies, marginals = jax.ffi.ffi_call(target("soft_marginals"), results)(
        tables, temperature, program, bounds, entropy=entropy
    )
    return values, entropies, marginals


def soft_sample(
    tables: Float[Array, "batch outputs"],
    temperature: Float[Array, " batch"],
    seeds: UInt32[Array, "batch 2"],
    program: NDArray[np.int32],
    bounds: NDArray[np.int32],
) -> Int[Array, "batch vertices"]:
    """An action of every state, drawn with probability proportional to exp(value / temperature)."""
    result = jax.ShapeDtypeStruct((tables.shape[0], int(program[1])), jnp.int32)  # type: ignore[no-untyped-call]
    return jax.ffi.ffi_call(target("soft_sample"), result)(
        tables, temperature, seeds, program, bounds
    )


def optimise(
    name: str,
    rate: Float[Array, ""],
    x: Float[Array, "..."],
    gradient: Float[Array, "..."],
    mean: Float[Array, "..."],
    square: Float[Array, "..."],
    decays: tuple[float, float],
    epsilon: float,
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """New parameters, means and squares, by the optimiser of that name."""
    result = jax.ShapeDtypeStruct(x.shape, jnp.float32)  # type: ignore[no-untyped-call]
    numbers = {
        "mean_decay": np.float32(decays[0]),
        "square_decay": np.float32(decays[1]),
        "epsilon": np.float32(epsilon),
    }
    call = jax.ffi.ffi_call(
        target(name),
        [result] * 3,
        vmap_method="sequential",
        input_output_aliases={0: 0, 2: 1, 3: 2},
    )
    rate = rate.astype(jnp.float32)
    new, new_mean, new_square = call(x, gradient, mean, square, rate, **numbers)
    return new, new_mean, new_square
