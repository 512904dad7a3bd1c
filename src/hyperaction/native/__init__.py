"""The compiled kernel: calls into C++ from compiled JAX programs, where it could be built."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8
from numpy.typing import NDArray

from hyperaction.native.loading import available, library

ELIMINATE = "hyperaction_eliminate"
SEARCH = "hyperaction_search"
PEAK = "hyperaction_peak"
CONVOLVE_BACK = "hyperaction_convolve_back"
ADAM = "hyperaction_adam"
RMSPROP = "hyperaction_rmsprop"

__all__ = ["available", "convolve_back", "eliminate", "optimise", "peak", "search"]


def eliminate(
    tables: Float[Array, "batch outputs"], program: NDArray[np.int32]
) -> Int[Array, "batch vertices"]:
    """The best action of every state, by a program of eliminations."""
    library()
    result = jax.ShapeDtypeStruct((tables.shape[0], int(program[1])), jnp.int32)  # type: ignore[no-untyped-call]
    # Programs keep their shape under vmap but for leading ones, which the kernel does not see.
    return jax.ffi.ffi_call(ELIMINATE, result, vmap_method="expand_dims")(
        tables.astype(jnp.float32), program
    )


def search(
    tables: Float[Array, "batch outputs"],
    structure: NDArray[np.int32],
    *,
    steps: int,
    nodes: int,
    seed: int = 0,
) -> tuple[Int[Array, "batch vertices"], Float[Array, " batch"]]:
    """A good action of every state of rank two at most, and an upper bound of all actions' sums.

    Tabu search of so many steps; then, where nodes are given, branch and bound.
    """
    library()
    results = (
        jax.ShapeDtypeStruct((tables.shape[0], int(structure[1])), jnp.int32),  # type: ignore[no-untyped-call]
        jax.ShapeDtypeStruct((tables.shape[0],), jnp.float32),  # type: ignore[no-untyped-call]
    )
    numbers = {"steps": np.int64(steps), "nodes": np.int64(nodes), "seed": np.int64(seed)}
    actions, bounds = jax.ffi.ffi_call(SEARCH, results, vmap_method="expand_dims")(
        tables.astype(jnp.float32), structure, **numbers
    )
    return actions, bounds


CONVOLVED = (32, 8)
"""The outputs, and the columns of the kernel, that `convolve_back` is made for."""


def convolve_back(
    image: UInt8[Array, "channels height width"],
    gradient: Float[Array, "out_height out_width outputs"],
    weight_shape: tuple[int, ...],
    *,
    stride: int,
    before: tuple[int, int],
) -> Float[Array, "outputs channels rows columns"]:
    """How the weights of a convolution change what the gradient is of, from an image of bytes.

    Args:
        image: What was convolved.
        gradient: That of what came out.
        weight_shape: The shape of the weights.
        stride: Pixels from one place to the next.
        before: Rows and columns of zeros before the image.
    """
    library()
    result = jax.ShapeDtypeStruct(weight_shape, jnp.float32)  # type: ignore[no-untyped-call]
    numbers = {"stride": np.int64(stride), "top": np.int64(before[0]), "left": np.int64(before[1])}
    return jax.ffi.ffi_call(CONVOLVE_BACK, result, vmap_method="broadcast_all")(
        image, gradient, **numbers
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
    library()
    result = jax.ShapeDtypeStruct(x.shape, jnp.float32)  # type: ignore[no-untyped-call]
    numbers = {
        "mean_decay": np.float32(decays[0]),
        "square_decay": np.float32(decays[1]),
        "epsilon": np.float32(epsilon),
    }
    call = jax.ffi.ffi_call(
        name, [result] * 3, vmap_method="sequential", input_output_aliases={0: 0, 2: 1, 3: 2}
    )
    rate = rate.astype(jnp.float32)
    new, new_mean, new_square = call(x, gradient, mean, square, rate, **numbers)
    return new, new_mean, new_square


def peak(rounds: int) -> Float[Array, " lanes"]:
    """Adds as fast as a core can, 192 a round, and returns what does not matter."""
    library()
    result = jax.ShapeDtypeStruct((16,), jnp.float32)  # type: ignore[no-untyped-call]
    return jax.ffi.ffi_call(PEAK, result)(rounds=np.int64(rounds))
