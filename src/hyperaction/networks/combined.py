"""State networks for images and numbers together, which come as one array of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from hyperaction.layers import linear
from hyperaction.layout import NUMBER_BYTES, Layout
from hyperaction.networks.state import NatureCNN

Packed = UInt8[Any, " bytes"]


def parts_of(layout: Layout, observation: Packed) -> list[Array]:
    """The parts of an observation: images of bytes, and rows of numbers."""
    parts = []
    for part, where in zip(layout.parts, layout.slices, strict=True):
        own = jnp.asarray(observation)[where]
        if isinstance(part, tuple):
            parts.append(own.reshape(part))
        else:
            each = own.reshape(part, NUMBER_BYTES)
            parts.append(jax.lax.bitcast_convert_type(each, jnp.float32))
    return parts


def unpacked(layout: Layout | None, observation: Any) -> Any:
    """All of an observation as one row of floats; without a layout, as it is."""
    if layout is None:
        return observation
    return jnp.concatenate(
        [jnp.ravel(part).astype(jnp.float32) for part in parts_of(layout, observation)]
    )


class Unpacked(eqx.Module):
    """A state network that is given all of an observation as one row of floats.

    Args:
        inner: The state network.
        layout: The parts of an observation.
    """

    inner: Callable[[Any], Any]
    layout: Layout = eqx.field(static=True)

    @property
    def features(self) -> int:
        """The length of the state network's output."""
        return int(self.inner.features)  # type: ignore[attr-defined]

    def __call__(self, observation: Packed) -> Any:
        return self.inner(unpacked(self.layout, observation))


class Combined(eqx.Module):
    """A state network of DQN's convolutions for each image, and a layer for the numbers, joined.

    Args:
        layout: The parts of an observation.
        joint: Makes the network of what is joined, from its shape and a key.
        width: Units of the layer after each image's convolutions, and of the numbers'.
        padding: What happens at the borders of an image: `"SAME"` or `"VALID"`.
    """

    convolutions: tuple[NatureCNN, ...]
    image_layers: tuple[eqx.nn.Linear, ...]
    number_layer: eqx.nn.Linear | None
    joint: Any
    layout: Layout = eqx.field(static=True)

    def __init__(
        self,
        layout: Layout,
        joint: Callable[..., Any],
        *,
        width: int = 256,
        padding: str = "SAME",
        key: PRNGKeyArray,
    ) -> None:
        image_keys, layer_keys, (numbers_key, joint_key) = (
            jax.random.split(each, count)
            for each, count in zip(
                jax.random.split(key, 3), (len(layout.images), len(layout.images), 2), strict=True
            )
        )
        self.convolutions = tuple(
            NatureCNN(shape, padding=padding, key=image_key)
            for shape, image_key in zip(layout.images, image_keys, strict=True)
        )
        self.image_layers = tuple(
            linear(each.features, width, key=layer_key)
            for each, layer_key in zip(self.convolutions, layer_keys, strict=True)
        )
        self.number_layer = None
        if layout.numbers:
            self.number_layer = linear(layout.numbers, width, key=numbers_key)
        rows = len(layout.images) + bool(layout.numbers)
        self.joint = joint((rows * width,), key=joint_key)
        self.layout = layout

    @property
    def features(self) -> int:
        """The length of the output."""
        return int(self.joint.features)

    def __call__(self, observation: Packed) -> Float[Array, " features"]:
        parts = parts_of(self.layout, observation)
        images = [part for part in parts if part.ndim > 1]
        rows = [
            layer(convolutions(image))
            for layer, convolutions, image in zip(
                self.image_layers, self.convolutions, images, strict=True
            )
        ]
        if self.number_layer is not None:
            numbers = jnp.concatenate([part for part in parts if part.ndim == 1])
            rows.append(self.number_layer(numbers))
        joined: Float[Array, " features"] = self.joint(jax.nn.relu(jnp.concatenate(rows)))
        return joined
