"""The action-in network: the state and the action go in, one value comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.blocks import TOTAL_WIDTH
from hyperaction.hypergraph import Hypergraph
from hyperaction.layers import linear, product
from hyperaction.networks.searched import AbstractSearchedNetwork

UNROLLED = 16
"""Vertices whose sub-actions are added without a loop."""


class ActionInNetwork(AbstractSearchedNetwork):
    """Action values Q(s, a) of a network that takes the state's features and the action.

    The action is one-hot per vertex. One hidden layer of rectifiers takes it beside the state's
    features; its product with the one-hot vectors is a sum of columns, which are gathered.

    Args:
        hypergraph: The vertices; the hyperedges are only what joint masks are about.
        state_network: From an observation to features: one of ours or any callable pytree.
        width: Hidden units.
        way: How best actions are found; by default by the number of joint actions.
    """

    unexplained: ClassVar[str] = "its network takes the action in and has no hyperedges"

    state_network: Callable[[Any], Float[Array, " features"]]
    hidden: eqx.nn.Linear
    """Of the state's features."""
    columns: Float[Array, "sub_actions width"]
    """Of the sub-actions of all vertices, side by side."""
    out: eqx.nn.Linear
    hypergraph: Hypergraph = eqx.field(static=True)
    way: str | None = eqx.field(static=True)

    def __init__(
        self,
        hypergraph: Hypergraph,
        state_network: Any,
        *,
        width: int = TOTAL_WIDTH,
        way: str | None = None,
        key: PRNGKeyArray,
    ) -> None:
        hidden_key, out_key = jax.random.split(key)
        features = state_network.features
        # One layer of the features and all sub-actions, whose columns are stored in two places.
        whole = linear(features + sum(hypergraph.sizes), width, key=hidden_key)
        alone = linear(features, width, key=hidden_key)
        self.hidden = eqx.tree_at(lambda layer: layer.weight, alone, whole.weight[:, :features])
        self.columns = whole.weight[:, features:].T
        self.out = linear(width, 1, key=out_key)
        self.state_network, self.hypergraph, self.way = state_network, hypergraph, way
        self.check_way()

    def features(self, observation: Any) -> Float[Array, " width"]:
        """The hidden layer without the action, before its rectifiers."""
        state = self.state_network(observation)
        return product(self.hidden.weight, state) + self.hidden.bias

    def values_of(
        self, features: Float[Array, " width"], actions: Int[Any, "n vertices"]
    ) -> Float[Array, " n"]:
        """The values of several actions of one state."""
        sizes = self.hypergraph.sizes
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        # Vertex by vertex: a gather for all of them and a sum take longer.
        hidden, _ = jax.lax.scan(
            lambda total, places: (total + self.columns[places], None),
            jnp.broadcast_to(features, (len(actions), len(features))),
            (jnp.asarray(actions) + starts).T,
            unroll=min(UNROLLED, len(sizes)),
        )
        assert self.out.bias is not None
        return jax.nn.relu(hidden) @ self.out.weight[0] + self.out.bias
