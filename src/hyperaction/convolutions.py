"""Sliding a kernel over images, by the fastest way that the processor has.

XLA's convolution is the reference. Where the processor has tiles (Intel AMX), they take half as
long or less; what they find differs by a few millionths of the largest number, where XLA's rounding
makes one. `JAX_DEFAULT_MATMUL_PRECISION=highest` leaves them out.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from hyperaction import native
from hyperaction.native import tiles

EXACT = ("highest", "float32", "F32_F32_F32")
"""The precisions of JAX that ask for all of a float's bits."""


class Sliding(NamedTuple):
    """How a kernel slides over images.

    Args:
        stride: Pixels from one place to the next, down and to the right.
        padding: What is around the images, as `jax.lax.conv_general_dilated` has it.
        of_bytes: Whether the images are of bytes with the channels first, which are scaled to go
            from zero to one, instead of floats with the channels last.
    """

    stride: tuple[int, ...]
    padding: Any
    of_bytes: bool

    def before(self, image: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, int]:
        """Rows and columns of zeros before an image."""
        pads = jax.lax.padtype_to_pads(self._area(image), kernel[2:], self.stride, self.padding)
        return pads[0][0], pads[1][0]

    def _area(self, image: tuple[int, ...]) -> tuple[int, ...]:
        return image[-2:] if self.of_bytes else image[-3:-1]


def slide(
    weight: Float[Array, "outputs inputs rows columns"], x: Num[Any, "..."], how: Sliding
) -> Float[Array, "out_height out_width outputs"]:
    """An image convolved with a kernel, the channels last."""
    if _tiles_serve(weight, x, how):
        return _slide_by_tiles(weight, x, how)
    return _slide_over_bytes(weight, x, how) if how.of_bytes else _slide(weight, x, how)


def _slide(weight: Any, x: Any, how: Sliding) -> Any:
    order = ("NHWC", "OIHW", "NHWC")
    return jax.lax.conv_general_dilated(
        x[None].astype(weight.dtype), weight, how.stride, how.padding, dimension_numbers=order
    )[0]


def _as_floats(image: Any) -> Any:
    return jnp.transpose(image, (1, 2, 0)).astype(jnp.float32) / 255.0


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _slide_over_bytes(weight: Any, image: Any, how: Sliding) -> Any:
    return _slide(weight, _as_floats(image), how)


def _bytes_forth(weight: Any, image: Any, how: Sliding) -> Any:
    return _slide_over_bytes(weight, image, how), (weight, image)


def _bytes_back(how: Sliding, kept: Any, gradient: Any) -> Any:
    weight, image = kept
    no_change = np.zeros(image.shape, jax.dtypes.float0)  # Bytes have no gradient.
    made_for = (weight.shape[0], weight.shape[3]) == native.CONVOLVED and _regular(how)
    if native.available() and made_for and gradient.dtype == jnp.float32:
        before = how.before(image.shape, weight.shape)
        change = native.convolve_back(
            image, gradient, weight.shape, stride=how.stride[0], before=before
        )
        return change / 255.0, no_change
    _, pull = jax.vjp(lambda weight: _slide(weight, _as_floats(image), how), weight)
    return *pull(gradient), no_change


_slide_over_bytes.defvjp(_bytes_forth, _bytes_back)


def _regular(how: Sliding) -> bool:
    return how.stride[0] == how.stride[1] and isinstance(how.padding, str)


def _tiles_serve(weight: Any, x: Any, how: Sliding) -> bool:
    number = jnp.uint8 if how.of_bytes else jnp.float32
    precision = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    # Under shard_map, JAX does not see which parts of a primitive of ours are on which device.
    in_parts = jax.sharding.get_abstract_mesh().manual_axes
    return (
        precision not in EXACT
        and not in_parts
        and native.available()
        and tiles.allowed()
        and weight.dtype == jnp.float32
        and x.dtype == number
        and _regular(how)
        and tiles.fits(weight.shape, how.stride[0], of_floats=not how.of_bytes)
    )


def _slide_by_tiles(weight: Any, x: Any, how: Sliding) -> Any:
    *_, height, width, _ = jax.eval_shape(lambda w, x: _by_xla(w, x, how), weight, x).shape
    before = how.before(x.shape, weight.shape)
    found = tiles.slide(x, weight, (height, width), how.stride[0], before)
    return found / 255.0 if how.of_bytes else found


def _by_xla(weight: Any, images: Any, how: Sliding) -> Any:
    return _slide(weight, _as_floats(images) if how.of_bytes else images, how)
