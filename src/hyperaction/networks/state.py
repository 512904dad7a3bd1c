"""State networks: from an observation to features."""

from __future__ import annotations

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from hyperaction.layers import convolution, convolved, linear


class MLP(eqx.Module):
    """A state network of fully connected layers of rectifiers; flattens what it is given.

    Args:
        observation_shape: The shape of what it is given.
        widths: The units of each layer.
        layer_norm: Normalise each layer before its rectifiers.
    """

    layers: tuple[eqx.nn.Linear, ...]
    norms: tuple[eqx.nn.LayerNorm, ...]
    features: int = eqx.field(static=True)

    def __init__(
        self,
        observation_shape: Sequence[int],
        widths: Sequence[int] = (600, 400),
        *,
        layer_norm: bool = False,
        key: PRNGKeyArray,
    ) -> None:
        sizes = [math.prod(observation_shape), *widths]
        keys = jax.random.split(key, max(len(widths), 1))
        self.layers = tuple(
            linear(fan_in, fan_out, key=layer_key)
            for fan_in, fan_out, layer_key in zip(sizes[:-1], sizes[1:], keys, strict=False)
        )
        self.norms = tuple(eqx.nn.LayerNorm(width) for width in widths) if layer_norm else ()
        self.features = sizes[-1]

    def __call__(self, observation: Shaped[ArrayLike, "..."]) -> Float[Array, " features"]:
        x = jnp.ravel(observation).astype(jnp.float32)
        for place, layer in enumerate(self.layers):
            x = layer(x)
            x = jax.nn.relu(self.norms[place](x) if self.norms else x)
        return x


class NatureCNN(eqx.Module):
    """The convolutional state network of DQN (Mnih et al., 2015), without its last hidden layer.

    Takes images of bytes with the channels first, or last where they are at most four. Borders are
    padded as in Dopamine.
    """

    layers: tuple[eqx.nn.Conv2d, ...]
    features: int = eqx.field(static=True)
    channels_last: bool = eqx.field(static=True)

    def __init__(
        self,
        observation_shape: Sequence[int] = (4, 84, 84),
        *,
        padding: str = "SAME",
        key: PRNGKeyArray,
    ) -> None:
        if len(observation_shape) != 3:
            raise ValueError(
                f"the convolutions take images of shape (channels, height, width), "
                f"not {tuple(observation_shape)}"
            )
        self.channels_last = observation_shape[2] <= 4 < observation_shape[0]
        channels = observation_shape[2 if self.channels_last else 0]
        keys = jax.random.split(key, 3)
        self.layers = (
            convolution(channels, 32, size=8, stride=4, padding=padding, key=keys[0]),
            convolution(32, 64, size=4, stride=2, padding=padding, key=keys[1]),
            convolution(64, 64, size=3, stride=1, padding=padding, key=keys[2]),
        )
        image = jnp.zeros(tuple(observation_shape), jnp.uint8)
        image = jnp.moveaxis(image, -1, 0) if self.channels_last else image
        self.features = jax.eval_shape(_convolve, self.layers, image).size
        if not self.features:
            raise ValueError(
                f"images of shape {tuple(observation_shape)} are too small for the convolutions"
            )

    def __call__(self, observation: Shaped[ArrayLike, "..."]) -> Float[Array, " features"]:
        image = jnp.asarray(observation)
        return _convolve(self.layers, jnp.moveaxis(image, -1, 0) if self.channels_last else image)


def _convolve(
    layers: tuple[eqx.nn.Conv2d, ...], image: Shaped[Array, "..."]
) -> Float[Array, " features"]:
    first, *others = layers
    of_bytes = image.dtype == jnp.uint8
    x = image if of_bytes else jnp.transpose(image, (1, 2, 0)) / 255.0
    x = jax.nn.relu(convolved(first, x, of_bytes=of_bytes))
    for layer in others:
        x = jax.nn.relu(convolved(layer, x))
    return jnp.ravel(x)
