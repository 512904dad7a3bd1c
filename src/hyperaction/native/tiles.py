"""Convolutions by the processor's tiles (Intel AMX), where it has them.

They are primitives of JAX, which knows their derivatives and how to batch them: images under
`jax.vmap` are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float, Num

from hyperaction.native.loading import library, register

NAMES = ("forth", "back", "weights")


@cache
def allowed() -> bool:
    """Whether the kernel knows tiles, the processor has them, and the system lets us use them."""
    kernel = library()
    ask = getattr(kernel, "hyperaction_tiles_allowed", None)  # Not there for other processors.
    if kernel is None or ask is None or not ask():
        return False
    for name in NAMES:
        register(kernel, f"hyperaction_tiles_{name}")
    return True


def fits(weight_shape: tuple[int, ...], stride: int, *, of_floats: bool) -> bool:
    """Whether a kernel `[outputs, inputs, rows, columns]` fills whole tiles, forth and back."""
    outputs, inputs, rows, columns = weight_shape
    forth = not (outputs % 32 or columns * inputs % 32)
    back = not (inputs % 32 or rows % stride or columns % stride)
    return forth and (back or not of_floats)


def slide(
    x: Num[Any, "..."],
    weight: Float[Array, "outputs inputs rows columns"],
    area: tuple[int, int],
    stride: int,
    before: tuple[int, int],
) -> Float[Array, "..."]:
    """Images convolved with a kernel, the channels last.

    Args:
        x: Images of floats with the channels last, or of bytes with the channels first.
        weight: The kernel.
        area: The rows and columns that come out.
        stride: Pixels from one place to the next.
        before: Rows and columns of zeros before an image.
    """
    shape = (*x.shape[:-3], *area, weight.shape[0])
    return _forth.bind(
        x, jnp.transpose(weight, (2, 3, 1, 0)), shape=shape, stride=stride, before=before
    )


def _call(name: str, first: Any, second: Any, *, shape: Any, stride: int, before: Any) -> Any:
    result = jax.ShapeDtypeStruct(shape, jnp.float32)  # type: ignore[no-untyped-call]
    numbers = {"stride": np.int64(stride), "top": np.int64(before[0]), "left": np.int64(before[1])}
    return jax.ffi.ffi_call(f"hyperaction_tiles_{name}", result)(first, second, **numbers)


def _primitive(name: str) -> Any:
    made: Any = Primitive(f"tiles_{name}")
    call = partial(_call, name)
    made.def_impl(jax.jit(call, static_argnames=("shape", "stride", "before")))
    made.def_abstract_eval(lambda *_, shape, **how: jax.core.ShapedArray(shape, jnp.float32))
    mlir.register_lowering(made, mlir.lower_fun(call, multiple_results=False))
    return made


_forth, _back, _weights = map(_primitive, NAMES)


# All three are linear in both of their arguments, and each other's transposes. Forth takes weights
# `[rows, columns, inputs, outputs]`, back `[rows, columns, outputs, inputs]`, and the change of
# weights is `[outputs, rows, columns, inputs]`.


def _forth_to_images(change: Any, x: Any, weight: Any, *, shape: Any, **how: Any) -> Any:
    return _back.bind(change, jnp.transpose(weight, (0, 1, 3, 2)), shape=x.aval.shape, **how)


def _forth_to_weights(change: Any, x: Any, weight: Any, *, shape: Any, **how: Any) -> Any:
    rows, columns, inputs, outputs = weight.aval.shape
    found = _weights.bind(x, change, shape=(outputs, rows, columns, inputs), **how)
    return jnp.transpose(found, (1, 2, 3, 0))


def _back_to_results(change: Any, y: Any, weight: Any, *, shape: Any, **how: Any) -> Any:
    return _forth.bind(change, jnp.transpose(weight, (0, 1, 3, 2)), shape=y.aval.shape, **how)


def _back_to_weights(change: Any, y: Any, weight: Any, *, shape: Any, **how: Any) -> Any:
    rows, columns, outputs, inputs = weight.aval.shape
    found = _weights.bind(change, y, shape=(outputs, rows, columns, inputs), **how)
    return jnp.transpose(found, (1, 2, 0, 3))


def _weights_to_images(change: Any, x: Any, y: Any, *, shape: Any, **how: Any) -> Any:
    return _back.bind(y, jnp.transpose(change, (1, 2, 0, 3)), shape=x.aval.shape, **how)


def _weights_to_results(change: Any, x: Any, y: Any, *, shape: Any, **how: Any) -> Any:
    return _forth.bind(x, jnp.transpose(change, (1, 2, 3, 0)), shape=y.aval.shape, **how)


for _primal, *_transposes in (
    (_forth, _forth_to_images, _forth_to_weights),
    (_back, _back_to_results, _back_to_weights),
    (_weights, _weights_to_images, _weights_to_results),
):
    ad.defbilinear(_primal, *_transposes)  # type: ignore[no-untyped-call]


def _batched(call: Any, at_once: bool) -> Callable[..., Any]:
    """A primitive under `jax.vmap`: in one call where only images are many, else one by one."""

    def rule(args: Any, axes: Any, *, shape: Any, **how: Any) -> Any:
        first, second = (
            arg if axis is None else jnp.moveaxis(arg, axis, 0)
            for arg, axis in zip(args, axes, strict=True)
        )
        if at_once and axes[1] is None:
            return call.bind(first, second, shape=(first.shape[0], *shape), **how), 0
        one = partial(call.bind, shape=shape, **how)
        if axes[0] is None:
            return jax.lax.map(lambda own: one(first, own), second), 0
        if axes[1] is None:
            return jax.lax.map(lambda own: one(own, second), first), 0
        return jax.lax.map(lambda own: one(*own), (first, second)), 0

    return rule


batching.primitive_batchers[_forth] = _batched(_forth, at_once=True)
batching.primitive_batchers[_back] = _batched(_back, at_once=True)
batching.primitive_batchers[_weights] = _batched(_weights, at_once=False)
