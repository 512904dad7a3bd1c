"""Convolutions by our kernels.

They are JAX primitives with derivatives and batching rules: images under `jax.vmap` are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float, Num

from hyperaction.kernels.library import CONVOLUTIONS, target


def conv2d(
    x: Num[Any, "..."],
    weight: Float[Array, "outputs inputs rows columns"],
    area: tuple[int, int],
    stride: int,
    before: tuple[int, int],
    instructions: str,
) -> Float[Array, "..."]:
    """Images convolved with weights, the channels last.

    Args:
        x: Images of floats with the channels last, or of bytes with the channels first.
        weight: The weights.
        area: The rows and columns that come out.
        stride: Pixels from one position to the next.
        before: Rows and columns of zeros before an image.
        instructions: The instruction set.
    """
    shape = (*x.shape[:-3], *area, weight.shape[0])
    move = {"stride": stride, "before": before, "instructions": instructions}
    return _forward.bind(x, jnp.transpose(weight, (2, 3, 1, 0)), shape=shape, **move)


def _call(
    name: str, first: Any, second: Any, *, shape: Any, stride: int, before: Any, instructions: str
) -> Any:
    result = jax.ShapeDtypeStruct(shape, jnp.float32)  # type: ignore[no-untyped-call]
    numbers = {"stride": np.int64(stride), "top": np.int64(before[0]), "left": np.int64(before[1])}
    call = jax.ffi.ffi_call(target(name, instructions), result)
    return call(first, second, **numbers)


def _primitive(name: str) -> Any:
    primitive: Any = Primitive(f"hyperaction_{name}")
    call = partial(_call, name)
    primitive.def_impl(jax.jit(call, static_argnames=("shape", "stride", "before", "instructions")))
    primitive.def_abstract_eval(lambda *_, shape, **more: jax.core.ShapedArray(shape, jnp.float32))
    mlir.register_lowering(primitive, mlir.lower_fun(call, multiple_results=False))
    return primitive


_forward, _input_gradient, _weight_gradient = map(_primitive, CONVOLUTIONS)


# All three are linear in both of their arguments, and each other's transposes. `_forward` takes
# weights `[rows, columns, inputs, outputs]`, `_input_gradient` `[rows, columns, outputs, inputs]`,
# and `_weight_gradient` returns `[outputs, rows, columns, inputs]`.


def _forward_to_images(cotangent: Any, x: Any, weight: Any, *, shape: Any, **more: Any) -> Any:
    return _input_gradient.bind(
        cotangent, jnp.transpose(weight, (0, 1, 3, 2)), shape=x.aval.shape, **more
    )


def _forward_to_weights(cotangent: Any, x: Any, weight: Any, *, shape: Any, **more: Any) -> Any:
    rows, columns, inputs, outputs = weight.aval.shape
    result = _weight_gradient.bind(x, cotangent, shape=(outputs, rows, columns, inputs), **more)
    return jnp.transpose(result, (1, 2, 3, 0))


def _input_gradient_to_results(
    cotangent: Any, y: Any, weight: Any, *, shape: Any, **more: Any
) -> Any:
    return _forward.bind(cotangent, jnp.transpose(weight, (0, 1, 3, 2)), shape=y.aval.shape, **more)


def _input_gradient_to_weights(
    cotangent: Any, y: Any, weight: Any, *, shape: Any, **more: Any
) -> Any:
    rows, columns, outputs, inputs = weight.aval.shape
    result = _weight_gradient.bind(cotangent, y, shape=(outputs, rows, columns, inputs), **more)
    return jnp.transpose(result, (1, 2, 0, 3))


def _weight_gradient_to_images(cotangent: Any, x: Any, y: Any, *, shape: Any, **more: Any) -> Any:
    return _input_gradient.bind(
        y, jnp.transpose(cotangent, (1, 2, 0, 3)), shape=x.aval.shape, **more
    )


def _weight_gradient_to_results(cotangent: Any, x: Any, y: Any, *, shape: Any, **more: Any) -> Any:
    return _forward.bind(x, jnp.transpose(cotangent, (1, 2, 3, 0)), shape=y.aval.shape, **more)


for _primal, *_transposes in (
    (_forward, _forward_to_images, _forward_to_weights),
    (_input_gradient, _input_gradient_to_results, _input_gradient_to_weights),
    (_weight_gradient, _weight_gradient_to_images, _weight_gradient_to_results),
):
    ad.defbilinear(_primal, *_transposes)  # type: ignore[no-untyped-call]


def _batched(call: Any, at_once: bool) -> Callable[..., Any]:
    """A primitive under `jax.vmap`: in one call where only images are many, else one by one."""

    def rule(args: Any, axes: Any, *, shape: Any, **more: Any) -> Any:
        first, second = (
            arg if axis is None else jnp.moveaxis(arg, axis, 0)
            for arg, axis in zip(args, axes, strict=True)
        )
        if at_once and axes[1] is None:
            return call.bind(first, second, shape=(first.shape[0], *shape), **more), 0
        one = partial(call.bind, shape=shape, **more)
        if axes[0] is None:
            return jax.lax.map(lambda own: one(first, own), second), 0
        if axes[1] is None:
            return jax.lax.map(lambda own: one(own, second), first), 0
        return jax.lax.map(lambda own: one(*own), (first, second)), 0

    return rule


batching.primitive_batchers[_forward] = _batched(_forward, at_once=True)
batching.primitive_batchers[_input_gradient] = _batched(_input_gradient, at_once=True)
batching.primitive_batchers[_weight_gradient] = _batched(_weight_gradient, at_once=False)
