"""State networks by name: what makes one for observations of a shape.

Anything that is called with an observation shape and a key, and gives a callable pytree with an
attribute `features`, can be used instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hyperaction.agents.parts import check, check_sizes


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

        return NatureCNN(observation_shape, padding=self.padding.upper(), key=key)


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


NETWORKS: dict[str, type[Any]] = {
    "mlp": MLPNetwork,
    "cnn": CNNNetwork,
    "residual": ResidualNetwork,
}
