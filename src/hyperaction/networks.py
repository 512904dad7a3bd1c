"""State networks, and the Q-network that joins one with blocks and a mixer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from hyperaction.blocks import TOTAL_WIDTH, Blocks
from hyperaction.hypergraph import Hypergraph
from hyperaction.layers import convolution, convolved, linear, product
from hyperaction.maximise import Maximiser, maximiser
from hyperaction.mixers import AbstractMixer, MakeMixer, Sum, make_mixer

ENUMERATION_LIMIT = 100_000
"""The most joint actions that `QNetwork.q_values` lists by default."""


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


class QNetwork(eqx.Module):
    """Action values Q(s, a): a state network, a block for every hyperedge, and a mixer.

    Written for one observation and one action; batch with `jax.vmap`.

    Args:
        hypergraph: The hyperedges on the action's vertices.
        state_network: From an observation to features: one of ours or any callable pytree.
        mixer: A mixer, the name of one, or a function that makes one from the number of
            hyperedges, the number of features and a key.
        width: Hidden units per head; by default the paper's heuristic.
        dueling: Add a value stream V(s), and centre the mixed values around zero.
        value_width: Hidden units of the value stream.
        features: The length of the state network's output, where it has no attribute `features`.
    """

    state_network: Callable[[Any], Float[Array, " features"]]
    blocks: Blocks
    mixer: AbstractMixer
    value_stream: tuple[eqx.nn.Linear, eqx.nn.Linear] | None
    hypergraph: Hypergraph = eqx.field(static=True)

    def __init__(
        self,
        hypergraph: Hypergraph,
        state_network: Callable[[Any], Float[Array, " features"]],
        *,
        mixer: AbstractMixer | MakeMixer | str = Sum(),
        width: int | None = None,
        dueling: bool = False,
        value_width: int = TOTAL_WIDTH,
        features: int | None = None,
        key: PRNGKeyArray,
    ) -> None:
        features = getattr(state_network, "features", None) if features is None else features
        if features is None:
            raise ValueError(
                "the state network has no attribute `features`; pass features=, the length of "
                "its output"
            )
        blocks_key, mixer_key, hidden_key, value_key = jax.random.split(key, 4)
        if isinstance(mixer, str):
            mixer = make_mixer(
                mixer, num_edges=hypergraph.num_edges, features=features, key=mixer_key
            )
        elif not isinstance(mixer, AbstractMixer):
            mixer = mixer(hypergraph.num_edges, features, mixer_key)
        self.hypergraph = hypergraph
        self.state_network = state_network
        self.blocks = Blocks(hypergraph, features, width, key=blocks_key)
        self.mixer = mixer
        self.value_stream = None
        if dueling:
            self.value_stream = (
                linear(features, value_width, key=hidden_key),
                linear(value_width, 1, key=value_key),
            )

    def outputs(self, observation: Any) -> Float[Array, " outputs"]:
        """All hyperedges' values in this state, side by side."""
        return self.blocks.outputs(self.blocks.heads(self.state_network(observation)))

    def representation(
        self, observation: Any, action: Int[Any, " vertices"]
    ) -> Float[Array, " edges"]:
        """The action's representation: its one value per hyperedge."""
        heads = self.blocks.heads(self.state_network(observation))
        return self.blocks.representation(heads, action)

    def __call__(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, ""]:
        """The value of an action in this state."""
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        value = self.mixer(self.blocks.representation(heads, action), state)
        return value + self._baseline(heads, state)

    def branches(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " edges"]:
        """Each hyperedge's own estimate of the action's value, not mixed with the others'.

        With dueling, all share the value stream, and each is centred on its own table.
        """
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        values = self.blocks.representation(heads, action)
        if self.value_stream is None:
            return values
        return values - self.blocks.table_means(heads) + self._value(state)

    def max(
        self, observation: Any, *, mask: Bool[ArrayLike, " entries"] | None = None
    ) -> Float[Array, ""]:
        """The value of the best action, allowed by the mask, in this state."""
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        best = self.maximiser.max(self.blocks.outputs(heads), mask=mask, state=state)
        return best + self._baseline(heads, state)

    def greedy(
        self, observation: Any, *, mask: Bool[ArrayLike, " entries"] | None = None
    ) -> Int[Array, " vertices"]:
        """The best action, allowed by the mask, in this state."""
        state = self.state_network(observation)
        outputs = self.blocks.outputs(self.blocks.heads(state))
        return self.maximiser.argmax(outputs, mask=mask, state=state)

    def sample(
        self,
        observation: Any,
        temperature: Any,
        key: PRNGKeyArray,
        *,
        mask: Bool[ArrayLike, " entries"] | None = None,
    ) -> Int[Array, " vertices"]:
        """An action drawn with probability proportional to exp(Q / temperature)."""
        state = self.state_network(observation)
        outputs = self.blocks.outputs(self.blocks.heads(state))
        return self.maximiser.sample(outputs, temperature, key, mask=mask, state=state)

    def q_values(
        self, observation: Any, *, limit: int = ENUMERATION_LIMIT
    ) -> Float[Array, " actions"]:
        """The values of all joint actions, the last vertex changing fastest; for small spaces."""
        count = self.hypergraph.num_actions
        if count > limit:
            raise ValueError(
                f"there are {count:,} joint actions, more than the {limit:,} that q_values lists; "
                f"`max` and `greedy` need no list, and limit={count} raises the limit"
            )
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        outputs = self.blocks.outputs(heads)
        representations = self.hypergraph.representation(outputs, self.hypergraph.all_actions())
        values = jax.vmap(self.mixer, in_axes=(0, None))(representations, state)
        return values + self._baseline(heads, state)

    @property
    def maximiser(self) -> Maximiser:
        """What finds this network's best actions."""
        return maximiser(self.hypergraph, self.mixer)

    def _baseline(
        self, heads: Float[Array, "heads width"], state: Float[Array, " features"]
    ) -> Float[Array, ""] | float:
        """What dueling adds to every action's mixed value: V(s), less the mixed mean action.

        The mean over all actions of an affine mixer is the mixer of the mean over each table. The
        other mixers are centred on that same point, so that no joint action is enumerated.
        """
        if self.value_stream is None:
            return 0.0
        return self._value(state) - self.mixer(self.blocks.table_means(heads), state)

    def _value(self, state: Float[Array, " features"]) -> Float[Array, ""]:
        assert self.value_stream is not None
        hidden, value = self.value_stream
        return value(jax.nn.relu(product(hidden.weight, state) + hidden.bias))[0]
