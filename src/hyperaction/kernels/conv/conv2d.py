"""Two-dimensional convolutions: XLA's, or kernels where they are faster.

XLA's convolution is the reference. On processors with AMX, kernels take half as long or less; their
results differ from it by a few millionths of the largest number, where rounding in XLA differs by
one. `JAX_DEFAULT_MATMUL_PRECISION=highest` leaves AMX out.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from hyperaction import kernels
from hyperaction.kernels.conv import amx, bytes_gradient

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
    if _amx_serves(weight, x, spec):
        return _conv2d_amx(weight, x, spec)
    return _conv2d_bytes(weight, x, spec) if spec.of_bytes else conv2d_xla(weight, x, spec)


def conv2d_xla(weight: Any, x: Any, spec: ConvSpec) -> Any:
    """The same by XLA alone."""
    x = _as_floats(x) if spec.of_bytes else x
    order = ("NHWC", "OIHW", "NHWC")
    return jax.lax.conv_general_dilated(
        x[None].astype(weight.dtype), weight, spec.stride, spec.padding, dimension_numbers=order
    )[0]


def _as_floats(image: Any) -> Any:
    return jnp.transpose(image, (1, 2, 0)).astype(jnp.float32) / 255.0


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _conv2d_bytes(weight: Any, image: Any, spec: ConvSpec) -> Any:
    return conv2d_xla(weight, image, spec)


def _bytes_forward(weight: Any, image: Any, spec: ConvSpec) -> Any:
    return _conv2d_bytes(weight, image, spec), (weight, image)


def _bytes_backward(spec: ConvSpec, saved: Any, gradient: Any) -> Any:
    weight, image = saved
    no_gradient = np.zeros(image.shape, jax.dtypes.float0)  # Bytes have none.
    single = gradient.dtype == jnp.float32
    if single and spec.regular and bytes_gradient.serves(weight.shape):
        before = spec.pad_before(image.shape, weight.shape)
        of_weight = bytes_gradient.weight_gradient(
            image, gradient, weight.shape, stride=spec.stride[0], before=before
        )
        return of_weight / 255.0, no_gradient
    _, pull = jax.vjp(lambda weight: conv2d_xla(weight, image, spec), weight)
    return *pull(gradient), no_gradient


_conv2d_bytes.defvjp(_bytes_forward, _bytes_backward)


def _amx_serves(weight: Any, x: Any, spec: ConvSpec) -> bool:
    number = jnp.uint8 if spec.of_bytes else jnp.float32
    precision = jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
    # Under shard_map, JAX does not see which parts of a primitive of ours are on which device.
    sharded = jax.sharding.get_abstract_mesh().manual_axes
    return (
        precision not in EXACT
        and not sharded
        and kernels.available()
        and amx.available()
        and weight.dtype == jnp.float32
        and x.dtype == number
        and spec.regular
        and amx.fits(weight.shape, spec.stride[0], of_floats=not spec.of_bytes)
    )


def _conv2d_amx(weight: Any, x: Any, spec: ConvSpec) -> Any:
    height, width, _ = jax.eval_shape(lambda w, x: conv2d_xla(w, x, spec), weight, x).shape
    before = spec.pad_before(x.shape, weight.shape)
    y = amx.conv2d(x, weight, (height, width), spec.stride[0], before)
    return y / 255.0 if spec.of_bytes else y
