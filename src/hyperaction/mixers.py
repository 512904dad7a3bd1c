"""Mixing functions: from an action's representation, one value per hyperedge, to its value."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hyperaction.errors import unknown
from hyperaction.hypergraph import Hypergraph
from hyperaction.layers import linear


class AbstractMixer(eqx.Module):
    """Turns a representation into an action value, for one action of one state.

    The class facts are what a maximiser plans by.
    """

    monotonic: eqx.AbstractClassVar[bool]
    """The value never falls when a hyperedge's value rises."""
    affine: eqx.AbstractClassVar[bool]
    """The value is a weighted sum of the hyperedges' values, plus a constant."""

    @abstractmethod
    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        """The value of an action; `state` is what the state network made of the observation."""

    def weights(self, num_edges: int) -> Float[Array, " edges"]:
        """How much each hyperedge weighs in an affine mixer."""
        raise TypeError(f"{type(self).__name__} is not a weighted sum")


class Sum(AbstractMixer):
    """Q(s, a) is the sum of the hyperedge values."""

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = True

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        return representation.sum()

    def weights(self, num_edges: int) -> Float[Array, " edges"]:
        return jnp.ones(num_edges)


class Mean(AbstractMixer):
    """Q(s, a) is the mean of the hyperedge values."""

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = True

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        return representation.mean()

    def weights(self, num_edges: int) -> Float[Array, " edges"]:
        return jnp.full(num_edges, 1.0 / num_edges)


class OrderMean(AbstractMixer):
    """Q(s, a) is the mean of each order's hyperedge values, added over the orders.

    However many hyperedges an order has, it weighs as much as any other.

    Attributes:
        orders: The order of each hyperedge.
    """

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = True
    orders: tuple[int, ...] = eqx.field(static=True)

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        return self.weights(len(self.orders)) @ representation

    def weights(self, num_edges: int) -> Float[Array, " edges"]:
        counts = Counter(self.orders)
        return jnp.array([1.0 / counts[order] for order in self.orders])


class Universal(AbstractMixer):
    """Q(s, a) is a neural network of the hyperedge values, with one hidden layer of rectifiers."""

    monotonic: ClassVar[bool] = False
    affine: ClassVar[bool] = False
    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, num_edges: int, width: int = 25, *, key: PRNGKeyArray) -> None:
        hidden_key, out_key = jax.random.split(key)
        self.hidden = linear(num_edges, width, key=hidden_key)
        self.out = linear(width, 1, key=out_key)

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        return self.out(jax.nn.relu(self.hidden(representation)))[0]


class MonotonicLinear(AbstractMixer):
    """Q(s, a) is a learned weighted sum of the hyperedge values, the weights never negative."""

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = True
    out: eqx.nn.Linear

    def __init__(self, num_edges: int, *, key: PRNGKeyArray) -> None:
        self.out = linear(num_edges, 1, key=key)

    def weights(self, num_edges: int) -> Float[Array, " edges"]:
        return jnp.abs(self.out.weight[0])

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        assert self.out.bias is not None
        return jnp.abs(self.out.weight[0]) @ representation + self.out.bias[0]


class Monotonic(AbstractMixer):
    """Q(s, a) is a strictly increasing neural network of the hyperedge values.

    Weights are taken absolute and the hidden units are ELUs, which never stop rising.
    """

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = False
    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, num_edges: int, width: int = 25, *, key: PRNGKeyArray) -> None:
        hidden_key, out_key = jax.random.split(key)
        self.hidden = linear(num_edges, width, key=hidden_key)
        self.out = linear(width, 1, key=out_key)

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        assert self.hidden.bias is not None
        assert self.out.bias is not None
        hidden = jax.nn.elu(jnp.abs(self.hidden.weight) @ representation + self.hidden.bias)
        return jnp.abs(self.out.weight[0]) @ hidden + self.out.bias[0]


class QMix(AbstractMixer):
    """A strictly increasing mixer whose weights the state sets (Rashid et al., 2018).

    Hypernetworks turn the state into the absolute weights of one hidden layer of ELUs and into its
    biases; the last bias comes from a hypernetwork with a hidden layer of its own.
    """

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = False
    hidden_weight: eqx.nn.Linear
    hidden_bias: eqx.nn.Linear
    out_weight: eqx.nn.Linear
    out_bias_hidden: eqx.nn.Linear
    out_bias: eqx.nn.Linear

    def __init__(
        self, num_edges: int, features: int, width: int = 32, *, key: PRNGKeyArray
    ) -> None:
        keys = jax.random.split(key, 5)
        self.hidden_weight = linear(features, num_edges * width, key=keys[0])
        self.hidden_bias = linear(features, width, key=keys[1])
        self.out_weight = linear(features, width, key=keys[2])
        self.out_bias_hidden = linear(features, width, key=keys[3])
        self.out_bias = linear(width, 1, key=keys[4])

    def __call__(
        self, representation: Float[Array, " edges"], state: Float[Array, " features"] | None = None
    ) -> Float[Array, ""]:
        if state is None:
            raise ValueError("the mixer qmix takes its weights from the state: pass state=")
        hidden_bias = self.hidden_bias(state)
        weight = jnp.abs(self.hidden_weight(state)).reshape(-1, len(hidden_bias))
        hidden = jax.nn.elu(representation @ weight + hidden_bias)
        out_bias = self.out_bias(jax.nn.relu(self.out_bias_hidden(state)))[0]
        return jnp.abs(self.out_weight(state)) @ hidden + out_bias


MakeMixer = Callable[[Hypergraph, int, PRNGKeyArray], AbstractMixer]
"""Makes a mixer from the hyperedges, the number of features and a key."""

MIXERS: dict[str, MakeMixer] = {
    "sum": lambda hypergraph, features, key: Sum(),
    "mean": lambda hypergraph, features, key: Mean(),
    "order-mean": lambda hypergraph, features, key: OrderMean(
        tuple(len(edge) for edge in hypergraph.edges)
    ),
    "universal": lambda hypergraph, features, key: Universal(hypergraph.num_edges, key=key),
    "monotonic-linear": lambda hypergraph, features, key: MonotonicLinear(
        hypergraph.num_edges, key=key
    ),
    "monotonic": lambda hypergraph, features, key: Monotonic(hypergraph.num_edges, key=key),
    "qmix": lambda hypergraph, features, key: QMix(hypergraph.num_edges, features, key=key),
}
"""The mixers that have a name."""


def as_mixer(
    given: AbstractMixer | MakeMixer | str,
    hypergraph: Hypergraph,
    features: int,
    key: PRNGKeyArray,
) -> AbstractMixer:
    """The mixer that is given: itself, by its name, or by a function that makes it."""
    if isinstance(given, str):
        return make_mixer(given, hypergraph, features=features, key=key)
    return given if isinstance(given, AbstractMixer) else given(hypergraph, features, key)


def make_mixer(
    name: str, hypergraph: Hypergraph, *, features: int, key: PRNGKeyArray
) -> AbstractMixer:
    """The mixer of that name for a hypergraph, with the paper's width where it has one."""
    if name not in MIXERS:
        raise ValueError(unknown("mixer", name, MIXERS))
    return MIXERS[name](hypergraph, features, key)
