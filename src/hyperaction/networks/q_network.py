"""The Q-network: a state network, a block for every hyperedge, and a mixer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.blocks import TOTAL_WIDTH, Blocks
from hyperaction.coarser import CoarserTables
from hyperaction.hypergraph import Hypergraph
from hyperaction.layers import linear, product
from hyperaction.maximise.base import AbstractWay
from hyperaction.maximise.cost import SECONDS, Budget
from hyperaction.mixers import AbstractMixer, MakeMixer, Sum, as_mixer
from hyperaction.networks.values import AbstractValueNetwork, Evaluation


class QNetwork(AbstractValueNetwork):
    """Action values Q(s, a): a state network, a block for every hyperedge, and a mixer.

    Written for one observation and one action; batch with `jax.vmap`.

    Args:
        hypergraph: The hyperedges on the action's vertices.
        state_network: From an observation to features: one of ours or any callable pytree.
        mixer: A mixer, the name of one, or a function that makes one from the hypergraph, the
            number of features and a key.
        width: Hidden units per head; by default the paper's heuristic.
        dueling: Add a value stream V(s), and centre the mixed values around zero.
        value_width: Hidden units of the value stream.
        quantiles: Outputs per table entry: with more than one, an action's return is a
            distribution, and its value that distribution's mean.
        levels: Sub-actions per vertex of nested grids, the finest last: a sub-action has its
            parent's value plus its own. Empty for one grid.
        way: How best actions are found, as `maximiser` takes it; by default the planner's choice.
        budget: What finding them exactly may take, as `maximiser` takes it.
        features: The length of the state network's output, where it has no attribute `features`.
    """

    state_network: Callable[[Any], Float[Array, " features"]]
    blocks: Blocks
    coarser: CoarserTables | None
    """What sub-actions have from their parents on coarser grids, where they have such."""
    mixer: AbstractMixer
    value_stream: tuple[eqx.nn.Linear, eqx.nn.Linear] | None
    hypergraph: Hypergraph = eqx.field(static=True)
    way: str | AbstractWay | None = eqx.field(static=True)
    budget: float | Budget = eqx.field(static=True)

    def __init__(
        self,
        hypergraph: Hypergraph,
        state_network: Callable[[Any], Float[Array, " features"]],
        *,
        mixer: AbstractMixer | MakeMixer | str = Sum(),
        width: int | None = None,
        dueling: bool = False,
        value_width: int = TOTAL_WIDTH,
        quantiles: int = 1,
        levels: tuple[int, ...] = (),
        way: str | AbstractWay | None = None,
        budget: float | Budget = SECONDS,
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
        self.hypergraph = hypergraph
        self.state_network = state_network
        self.blocks = Blocks(hypergraph, features, width, quantiles=quantiles, key=blocks_key)
        self.coarser = None
        if levels:
            zeros = jax.tree.map(jnp.zeros_like, self.blocks.weights)
            self.blocks = eqx.tree_at(lambda blocks: blocks.weights, self.blocks, zeros)
            self.coarser = CoarserTables(self.blocks, levels, key=blocks_key)
        self.mixer = as_mixer(mixer, hypergraph, features, mixer_key)
        self.way, self.budget = way, budget
        self.value_stream = None
        if dueling:
            self.value_stream = (
                linear(features, value_width, key=hidden_key),
                linear(value_width, 1, key=value_key),
            )

    @property
    def tables(self) -> Blocks:
        """The blocks that compute the hyperedges' tables."""
        return self.blocks if self.coarser is None else self.coarser.added_to(self.blocks)

    def evaluate(self, observation: Any) -> Evaluation:
        """What every action's value in this state follows from."""
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        blocks = self.tables.mean
        return Evaluation(blocks.outputs(heads), state, self._baseline(blocks, heads, state))

    def representation(
        self, observation: Any, action: Int[Any, " vertices"]
    ) -> Float[Array, " edges"]:
        """The action's representation: its one value per hyperedge."""
        heads = self.blocks.heads(self.state_network(observation))
        return self.tables.mean.representation(heads, action)

    def __call__(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, ""]:
        """The value of an action in this state."""
        state = self.state_network(observation)
        heads, blocks = self.blocks.heads(state), self.tables.mean
        value = self.mixer(blocks.representation(heads, action), state)
        return value + self._baseline(blocks, heads, state)

    def values(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " critics"]:
        """The value of an action, of one critic."""
        return self(observation, action)[None]

    def quantiles(
        self, observation: Any, action: Int[Any, " vertices"]
    ) -> Float[Array, "critics quantiles"]:
        """The quantiles of an action's return, of one critic.

        Quantile by quantile the mix of the hyperedges' quantiles. Where the mixer is not affine, it
        mixes their means, and the hyperedges' distributions around their means are added.
        """
        state = self.state_network(observation)
        heads = self.blocks.heads(state)
        each = self.tables.quantiles(heads, action)
        mean = each.mean(axis=0)
        value = self.mixer(mean, state) + self._baseline(self.tables.mean, heads, state)
        around = each - mean
        if self.mixer.affine:
            around = around * self.mixer.weights(self.hypergraph.num_edges)
        return (value + around.sum(axis=-1))[None]

    def branches(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " edges"]:
        """Each hyperedge's own estimate of the action's value, not mixed with the others'.

        With dueling, all share the value stream, and each is centred on its own table.
        """
        state = self.state_network(observation)
        heads, blocks = self.blocks.heads(state), self.tables.mean
        values = blocks.representation(heads, action)
        if self.value_stream is None:
            return values
        return values - blocks.table_means(heads) + self._value(state)

    def _baseline(
        self, blocks: Blocks, heads: Float[Array, "heads width"], state: Float[Array, " features"]
    ) -> Float[Array, ""] | float:
        """What dueling adds to every action's mixed value: V(s), less the mixed mean action.

        The mean over all actions of an affine mixer is the mixer of the mean over each table. The
        other mixers are centred on that same point, so that no joint action is enumerated.
        """
        if self.value_stream is None:
            return 0.0
        return self._value(state) - self.mixer(blocks.table_means(heads), state)

    def _value(self, state: Float[Array, " features"]) -> Float[Array, ""]:
        assert self.value_stream is not None
        hidden, value = self.value_stream
        return value(jax.nn.relu(product(hidden.weight, state) + hidden.bias))[0]
