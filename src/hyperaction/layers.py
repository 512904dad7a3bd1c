"""Layers that start as the authors' do: weights Xavier-uniform, biases at zero."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from hyperaction.kernels.conv import ConvSpec, conv2d

_Layer = TypeVar("_Layer", eqx.nn.Linear, eqx.nn.Conv2d)


def xavier_uniform(
    key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int, fan_out: int
) -> Float[Array, "..."]:
    """Weights drawn evenly from plus to minus the square root of 6 / (fan_in + fan_out)."""
    limit = (6.0 / (fan_in + fan_out)) ** 0.5
    return limit * uniform(key, shape)


def uniform(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Numbers drawn evenly from -1 to 1."""
    # In one row: XLA takes seconds to compile what draws into an array of several axes.
    return jax.random.uniform(key, (math.prod(shape),), minval=-1.0, maxval=1.0).reshape(shape)


def linear(in_features: int, out_features: int, *, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer, Xavier-uniform."""
    layer = eqx.nn.Linear(in_features, out_features, key=key)
    weight = xavier_uniform(key, layer.weight.shape, in_features, out_features)
    return _started(layer, weight)


def product(weight: Float[Array, "outputs inputs"], x: Float[Array, " inputs"]) -> Any:
    """A large matrix times a vector, batched fast."""
    # Without the barrier XLA swaps the operands, and repacks the matrix at every product.
    return jax.lax.optimization_barrier(weight @ x)  # type: ignore[no-untyped-call]


def convolution(
    in_channels: int, out_channels: int, *, size: int, stride: int, padding: str, key: PRNGKeyArray
) -> eqx.nn.Conv2d:
    """A two-dimensional convolution, Xavier-uniform."""
    layer = eqx.nn.Conv2d(in_channels, out_channels, size, stride, padding, key=key)
    area = size * size
    weight = xavier_uniform(key, layer.weight.shape, in_channels * area, out_channels * area)
    return _started(layer, weight)


def convolved(
    layer: eqx.nn.Conv2d, x: Num[Any, "..."], *, of_bytes: bool = False
) -> Float[Array, "height width outputs"]:
    """The result of a convolution, with the channels last, which is fastest.

    Args:
        layer: The convolution.
        x: The image, `[height, width, channels]`.
        of_bytes: Whether it is an image of bytes instead, `[channels, height, width]`, which is
            scaled to [0, 1].
    """
    assert layer.bias is not None
    spec = ConvSpec(layer.stride, layer.padding, of_bytes)
    return conv2d(layer.weight, x, spec) + layer.bias[:, 0, 0]


def _started(layer: _Layer, weight: Float[Array, "..."]) -> _Layer:
    assert layer.bias is not None
    zeros = jnp.zeros_like(layer.bias)
    return eqx.tree_at(lambda node: (node.weight, node.bias), layer, (weight, zeros))
