"""The gradient of the weights of a convolution of bytes."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from hyperaction import kernels
from hyperaction.kernels import isa
from hyperaction.kernels.library import load

OUTPUTS, COLUMNS = 32, 8
"""The outputs, and the columns of the weights, that the kernel is written for."""
NAME = "bytes_gradient"


def serves(weight_shape: tuple[int, ...]) -> bool:
    """Whether the kernel takes such weights and can be used."""
    fits = (weight_shape[0], weight_shape[3]) == (OUTPUTS, COLUMNS)
    chosen = isa.vector_set()
    built = chosen is not None and load(Path(__file__).parent, chosen, (NAME,))
    return fits and built and kernels.available()


def weight_gradient(
    image: UInt8[Array, "channels height width"],
    gradient: Float[Array, "out_height out_width outputs"],
    weight_shape: tuple[int, ...],
    *,
    stride: int,
    before: tuple[int, int],
) -> Float[Array, "outputs channels rows columns"]:
    """The gradient of the weights.

    Args:
        image: What was convolved; its bytes count as 0 to 255.
        gradient: The gradient of the result.
        weight_shape: The shape of the weights.
        stride: Pixels from one position to the next.
        before: Rows and columns of zeros before the image.
    """
    result = jax.ShapeDtypeStruct(weight_shape, jnp.float32)  # type: ignore[no-untyped-call]
    numbers = {"stride": np.int64(stride), "top": np.int64(before[0]), "left": np.int64(before[1])}
    target = f"hyperaction_{NAME}_{isa.vector_set()}"
    call = jax.ffi.ffi_call(target, result, vmap_method="broadcast_all")
    return call(image, gradient, **numbers)
