"""State networks by name: what makes one for observations of a shape.

Anything that is called with an observation shape and a key, and gives a callable pytree with an
attribute `features`, can be used instead. Observations of images and numbers together are given to
what has a method `of_layout` as bytes, with a layout that says where they are; to all else, as one
row of floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hyperaction.agents.parts import check, check_sizes
from hyperaction.errors import SettingError
from hyperaction.layout import Layout


@dataclass(frozen=True)
class MLPNetwork:
    """Fully connected layers of rectifiers."""

    hidden: tuple[int, ...] = (600, 400)
    """Hidden units of each layer."""
    layer_norm: bool = False
    """Normalise each layer."""

    def __post_init__(self) -> None:
        check(self)
        check_sizes("hidden", self.hidden)

    def __call__(self, observation_shape: tuple[int, ...], *, key: Any) -> Any:
        """The network for observations of this shape."""
        from hyperaction.networks import MLP

        return MLP(observation_shape, self.hidden, layer_norm=self.layer_norm, key=key)

    def of_layout(self, layout: Layout, *, key: Any) -> Any:
        """These layers after those of images and of numbers."""
        from hyperaction.networks import Combined

        return Combined(layout, self, key=key)


@dataclass(frozen=True)
class CNNNetwork:
    """The convolutions of DQN, for images of bytes."""

    padding: Literal["same", "valid"] = "same"
    """What happens at the borders of an image: pad it with zeros, as Dopamine does, or stay
    inside it."""

    def __post_init__(self) -> None:
        check(self)

    def __call__(self, observation_shape: tuple[int, ...], *, key: Any) -> Any:
        """The network for observations of this shape."""
        from hyperaction.networks import NatureCNN

        if len(observation_shape) != 3:
            raise SettingError(
                f"`network` cnn is for images, not for observations of shape {observation_shape}; "
                f"choose mlp"
            )
        return NatureCNN(observation_shape, padding=self.padding.upper(), key=key)

    def of_layout(self, layout: Layout, *, key: Any) -> Any:
        """These convolutions for each image, and a layer for the numbers."""
        from hyperaction.networks import Combined

        return Combined(layout, MLPNetwork(()), padding=self.padding.upper(), key=key)


@dataclass(frozen=True)
class ResidualNetwork:
    """Residual blocks of fully connected layers, normalised, as DecQN's."""

    width: int = 512
    """Units of every layer."""
    num_blocks: int = 1
    """Blocks of two layers."""

    def __post_init__(self) -> None:
        check(self, at_least={"num_blocks": 1})
        check_sizes("width", [self.width])

    def __call__(self, observation_shape: tuple[int, ...], *, key: Any) -> Any:
        """The network for observations of this shape."""
        from hyperaction.networks import ResidualMLP

        return ResidualMLP(observation_shape, self.width, self.num_blocks, key=key)

    def of_layout(self, layout: Layout, *, key: Any) -> Any:
        """These blocks after the layers of images and of numbers."""
        from hyperaction.networks import Combined

        return Combined(layout, self, key=key)


@dataclass(frozen=True)
class CombinedNetwork:
    """DQN's convolutions for each image and a layer for the numbers, then layers of both."""

    part_width: int = 256
    """Units of the layer after an image's convolutions, and of the layer of the numbers."""
    joint_hidden: tuple[int, ...] = (600, 400)
    """Hidden units of each layer after these are joined."""
    joint_layer_norm: bool = False
    """Normalise each of these layers."""

    def __post_init__(self) -> None:
        check(self)
        check_sizes("joint_hidden", self.joint_hidden)
        check_sizes("part_width", [self.part_width])

    def __call__(self, observation_shape: tuple[int, ...], *, key: Any) -> Any:
        """Refuses observations without images or without parts."""
        raise SettingError(
            f"`network` combined is for a Dict or Tuple with images, not for observations of shape "
            f"{observation_shape}; choose mlp, or cnn for an image alone"
        )

    def of_layout(self, layout: Layout, *, key: Any) -> Any:
        """The network for observations of this layout."""
        from hyperaction.networks import Combined

        joint = MLPNetwork(self.joint_hidden, self.joint_layer_norm)
        return Combined(layout, joint, width=self.part_width, key=key)


NETWORKS: dict[str, type[Any]] = {
    "mlp": MLPNetwork,
    "cnn": CNNNetwork,
    "residual": ResidualNetwork,
    "combined": CombinedNetwork,
}
