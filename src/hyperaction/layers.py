"""Layers that start as the authors' do: weights Xavier-uniform, biases at zero."""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

_Layer = TypeVar("_Layer", eqx.nn.Linear, eqx.nn.Conv2d)


def xavier_uniform(
    key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int, fan_out: int
) -> Float[Array, "..."]:
    """Weights drawn evenly from plus to minus the square root of 6 / (fan_in + fan_out)."""
    limit = (6.0 / (fan_in + fan_out)) ** 0.5
    return jax.random.uniform(key, shape, minval=-limit, maxval=limit)


def linear(in_features: int, out_features: int, *, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer, Xavier-uniform."""
    layer = eqx.nn.Linear(in_features, out_features, key=key)
    weight = xavier_uniform(key, layer.weight.shape, in_features, out_features)
    return _started(layer, weight)


def convolution(
    in_channels: int, out_channels: int, *, size: int, stride: int, padding: str, key: PRNGKeyArray
) -> eqx.nn.Conv2d:
    """A two-dimensional convolution, Xavier-uniform."""
    layer = eqx.nn.Conv2d(in_channels, out_channels, size, stride, padding, key=key)
    area = size * size
    weight = xavier_uniform(key, layer.weight.shape, in_channels * area, out_channels * area)
    return _started(layer, weight)


def _started(layer: _Layer, weight: Float[Array, "..."]) -> _Layer:
    assert layer.bias is not None
    zeros = jnp.zeros_like(layer.bias)
    return eqx.tree_at(lambda node: (node.weight, node.bias), layer, (weight, zeros))
