"""Two-dimensional convolutions: XLA's, or kernels where they are faster.

XLA's convolution is the reference. Kernels round as float32 does, but for those by AMX: they differ
from it by a few millionths of the largest number, where rounding in XLA differs by one.
`JAX_DEFAULT_MATMUL_PRECISION=highest` leaves AMX out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from hyperaction.kernels import isa
from hyperaction.kernels.conv import primitives
from hyperaction.kernels.library import CONVOLUTIONS, serves

EXACT = ("highest", "float32", "F32_F32_F32")
"""The precisions of JAX that ask for all of a float's bits."""


class ConvSpec(NamedTuple):
    """How a convolution moves over images.

    Args:
        stride: Pixels from one position to the next, down and to the right.
        padding: What is around the images, as in `jax.lax.conv_general_dilated`.
        of_bytes: Whether images are bytes with the channels first, which are scaled to [0, 1],
            instead of floats with the channels last.
    """

    stride: tuple[int, ...]
    padding: Any
    of_bytes: bool

    @property
    def regular(self) -> bool:
        """Whether it has one stride and a named padding, as the kernels need."""
        return self.stride[0] == self.stride[1] and isinstance(self.padding, str)

    def pad_before(self, image: tuple[int, ...], weight: tuple[int, ...]) -> tuple[int, int]:
        """Rows and columns of zeros before an image."""
        area = image[-2:] if self.of_bytes else image[-3:-1]
        pads = jax.lax.padtype_to_pads(area, weight[2:], self.stride, self.padding)
        return pads[0][0], pads[1][0]


def conv2d(
    weight: Float[Array, "outputs inputs rows columns"], x: Num[Any, "..."], spec: ConvSpec
) -> Float[Array, "out_height out_width outputs"]:
    """An image convolved with weights, the channels last."""
    instructions = serving_set(weight, x, spec)
    if instructions is None:
        return conv2d_xla(weight, x, spec)
    height, width, _ = jax.eval_shape(lambda w, x: conv2d_xla(w, x, spec), weight, x).shape
    before = spec.pad_before(x.shape, weight.shape)
    y = primitives.conv2d(x, weight, (height, width), spec.stride[0], before, instructions)
    return y / 255.0 if spec.of_bytes else y


def conv2d_xla(weight: Any, x: Any, spec: ConvSpec) -> Any:
    """The same by XLA alone."""
    x = _as_floats(x) if spec.of_bytes else x
    order = ("NHWC", "OIHW", "NHWC")
    return jax.lax.conv_general_dilated(
        x[None].astype(weight.dtype), weight, spec.stride, spec.padding, dimension_numbers=order
    )[0]


def _as_floats(image: Any) -> Any:
    return jnp.transpose(image, (1, 2, 0)).astype(jnp.float32) / 255.0


def serving_set(weight: Any, x: Any, spec: ConvSpec) -> str | None:
    """The instruction set of the kernels that serve a convolution; None if it is left to XLA."""
    number = jnp.uint8 if spec.of_bytes else jnp.float32
    # Under shard_map, JAX does not see which parts of a primitive of ours are on which device.
    sharded = jax.sharding.get_abstract_mesh().manual_axes
    regular = spec.regular and weight.dtype == jnp.float32 and x.dtype == number
    if sharded or not regular or not _fits(weight.shape, of_floats=not spec.of_bytes):
        return None
    precision = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    exact = precision in EXACT or not _fits_tiles(weight.shape, spec)
    chosen = isa.vector_set() if exact else isa.chosen_set()
    return chosen if all(serves(function, chosen) for function in CONVOLUTIONS) else None


def _fits(weight_shape: tuple[int, ...], *, of_floats: bool) -> bool:
    """Whether weights `[outputs, inputs, rows, columns]` fill whole registers, both ways."""
    outputs, inputs, _, _ = weight_shape
    return outputs % 32 == 0 and (inputs % 32 == 0 or not of_floats)


def _fits_tiles(weight_shape: tuple[int, ...], spec: ConvSpec) -> bool:
    """Whether they fill whole tiles of AMX, both ways."""
    _, inputs, rows, columns = weight_shape
    stride = spec.stride[0]
    backward = not (rows % stride or columns % stride)
    return columns * inputs % 32 == 0 and (backward or spec.of_bytes)
