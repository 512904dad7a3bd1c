"""The hyperedges' blocks: from the state's features to the outputs of all hyperedges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.layers import linear, product, uniform, xavier_uniform

TOTAL_WIDTH = 400
"""The paper's hidden units over all heads in physical control."""

SMALL_TABLE = 8
"""Up to this many entries, computing a whole table is faster than gathering one row of weights."""

PADDING = 1.5
"""Tables share a stack when the largest is at most this many times the smallest."""


def head_width(num_heads: int, total_width: int = TOTAL_WIDTH, multiple: int = 5) -> int:
    """The paper's heuristic: the total divided over the heads, rounded up to a multiple."""
    return multiple * math.ceil(total_width / num_heads / multiple)


class Blocks(eqx.Module):
    """A block for every hyperedge: a head of hidden rectifiers, then one output per table entry.

    All heads' hidden layers are one matrix product. Their output layers are stacked: heads of
    equal table size in one batched product, heads of nearly equal size padded to share one.

    With quantiles, an entry's output is a distribution: output weights and biases have a leading
    axis of them, and `mean` gives the blocks of the entries' means, on which all but `quantiles` is
    defined.

    Args:
        hypergraph: The hyperedges.
        features: The length of the state network's output.
        width: Hidden units per head; by default the paper's heuristic. 0 is none: outputs are
            linear in the features.
        quantiles: Outputs per table entry; 1 is a value without an axis.
    """

    hidden: eqx.nn.Linear | None
    weights: tuple[Float[Array, "*quantiles _heads _table width"], ...]
    biases: Float[Array, "*quantiles outputs"]
    hypergraph: Hypergraph = eqx.field(static=True)

    def __init__(
        self,
        hypergraph: Hypergraph,
        features: int,
        width: int | None = None,
        *,
        quantiles: int = 1,
        key: PRNGKeyArray,
    ) -> None:
        width = head_width(hypergraph.num_edges) if width is None else width
        if width < 0:
            raise ValueError(f"a head has at least 0 hidden units, not {width}")
        hidden_key, weights_key = jax.random.split(key)
        self.hidden = None
        if width:
            # One matrix, but each head is a layer of its own: its fan-out is one head's width.
            hidden = linear(features, hypergraph.num_edges * width, key=hidden_key)
            weight = xavier_uniform(hidden_key, hidden.weight.shape, features, width)
            self.hidden = eqx.tree_at(lambda layer: layer.weight, hidden, weight)
        stacks = stacks_of(hypergraph.table_sizes)
        keys = jax.random.split(weights_key, len(stacks))
        axis = (quantiles,) if quantiles > 1 else ()
        self.weights = tuple(
            _stacked_weights(
                [hypergraph.table_sizes[edge] for edge in stack], width or features, axis, stack_key
            )
            for stack, stack_key in zip(stacks, keys, strict=True)
        )
        self.biases = jnp.zeros((*axis, hypergraph.num_outputs))
        self.hypergraph = hypergraph

    @property
    def mean(self) -> Blocks:
        """The blocks whose outputs are the means of these blocks' quantiles."""
        if self.biases.ndim == 1:
            return self
        means = [jnp.mean(weights, axis=0) for weights in self.weights]
        new = (tuple(means), jnp.mean(self.biases, axis=0))
        return eqx.tree_at(lambda blocks: (blocks.weights, blocks.biases), self, new)

    def quantile(self, number: int) -> Blocks:
        """The blocks whose outputs are these blocks' quantiles of one number."""
        new = (tuple(weights[number] for weights in self.weights), self.biases[number])
        return eqx.tree_at(lambda blocks: (blocks.weights, blocks.biases), self, new)

    def heads(self, state: Float[Array, " features"]) -> Float[Array, "heads width"]:
        """The heads' hidden units, from which all else follows: most of the work is here."""
        if self.hidden is None:
            return jnp.broadcast_to(state, (self.hypergraph.num_edges, len(state)))
        hidden = product(self.hidden.weight, state) + self.hidden.bias
        return jax.nn.relu(hidden).reshape(self.hypergraph.num_edges, -1)

    def outputs(self, heads: Float[Array, "heads width"]) -> Float[Array, " outputs"]:
        """All hyperedges' values, side by side."""
        stacks = stacks_of(self.hypergraph.table_sizes)
        tables = [
            _tables(_take(heads, stack), weights)
            for stack, weights in zip(stacks, self.weights, strict=True)
        ]
        padded = jnp.concatenate([jnp.ravel(table) for table in tables])
        return _take(padded, unpadding(self.hypergraph.table_sizes, stacks)) + self.biases

    def representation(
        self, heads: Float[Array, "heads width"], action: Int[Any, " vertices"]
    ) -> Float[Array, " edges"]:
        """The representation of one action, without the outputs of all others."""
        place = self.hypergraph.indices(action)
        entry = place - self.hypergraph.offsets
        stacks = stacks_of(self.hypergraph.table_sizes)
        values = [
            jnp.einsum("hw,hw->h", _take(heads, stack), _rows(weights, _take(entry, stack)))
            for stack, weights in zip(stacks, self.weights, strict=True)
        ]
        in_order = _take(jnp.concatenate(values), np.argsort(np.concatenate(stacks)))
        return in_order + self.biases[place]

    def quantiles(
        self, heads: Float[Array, "heads width"], action: Int[Any, " vertices"]
    ) -> Float[Array, "quantiles edges"]:
        """The quantiles of each hyperedge's value of one action."""
        if self.biases.ndim == 1:
            return self.representation(heads, action)[None]
        place = self.hypergraph.indices(action)
        entry = place - self.hypergraph.offsets
        stacks = stacks_of(self.hypergraph.table_sizes)
        values = [
            _quantiles(_take(heads, stack), weights, _take(entry, stack))
            for stack, weights in zip(stacks, self.weights, strict=True)
        ]
        joined = jnp.concatenate(values, axis=-1)
        return joined[:, np.argsort(np.concatenate(stacks))] + self.biases[:, place]

    def table_means(self, heads: Float[Array, "heads width"]) -> Float[Array, " edges"]:
        """The mean of each hyperedge's table, from the mean weights: no output is needed."""
        stacks = stacks_of(self.hypergraph.table_sizes)
        sizes = np.array(self.hypergraph.table_sizes)
        sums = []
        for stack, weights in zip(stacks, self.weights, strict=True):
            # The mean is over a hyperedge's own table, not over what pads it.
            inside = np.arange(weights.shape[1]) < sizes[stack, None]
            total = jnp.einsum("htw,ht->hw", weights, inside.astype(np.float32))
            sums.append(jnp.einsum("hw,hw->h", _take(heads, stack), total))
        in_order = _take(jnp.concatenate(sums), np.argsort(np.concatenate(stacks)))
        biases = jnp.add.reduceat(self.biases, self.hypergraph.offsets)
        return (in_order + biases) / sizes.astype(np.float32)


def stacks_of(table_sizes: Sequence[int]) -> list[NDArray[np.intp]]:
    """The hyperedges whose output layers share one batched product, smallest tables first."""
    stacks: list[list[int]] = []
    for edge in sorted(range(len(table_sizes)), key=lambda edge: table_sizes[edge]):
        if stacks and table_sizes[edge] <= PADDING * table_sizes[stacks[-1][0]]:
            stacks[-1].append(edge)
        else:
            stacks.append([edge])
    return [np.sort(stack) for stack in stacks]


def _tables(
    heads: Float[Array, "heads width"], weights: Float[Array, "heads table width"]
) -> Float[Array, "heads table"]:
    if len(heads) == 1:  # XLA's batched product takes several times as long as a plain one.
        return (weights[0] @ heads[0])[None]
    return jnp.einsum("hw,htw->ht", heads, weights)


def _rows(
    weights: Float[Array, "heads table width"], entry: Int[Any, " heads"]
) -> Float[Array, "heads width"]:
    return weights[np.arange(len(weights)), entry]


def _quantiles(
    heads: Float[Array, "heads width"],
    weights: Float[Array, "quantiles heads table width"],
    entry: Int[Any, " heads"],
) -> Float[Array, "quantiles heads"]:
    if weights.shape[2] <= SMALL_TABLE:
        # All of a head's table at once, head by head: XLA's batched products take longer.
        each = [(weights[:, n] @ heads[n])[:, entry[n]] for n in range(len(heads))]
        return jnp.stack(each, axis=-1)
    rows = weights[:, np.arange(len(heads)), entry]
    return jnp.einsum("hw,qhw->qh", heads, rows)


def _stacked_weights(
    sizes: Sequence[int], width: int, axis: tuple[int, ...], key: PRNGKeyArray
) -> Float[Array, "*quantiles heads table width"]:
    """Output weights of a stack of heads, each Xavier-uniform for its own table, zero beyond it."""
    unit = uniform(key, (*axis, len(sizes), width, max(sizes)))
    limits = np.array([(6.0 / (width + size)) ** 0.5 for size in sizes], np.float32)
    inside = np.arange(max(sizes)) < np.array(sizes)[:, None]
    return jnp.swapaxes(unit * (limits[:, None] * inside)[:, None, :], -2, -1)


def unpadding(table_sizes: Sequence[int], stacks: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Where each output stands among the padded, stacked tables."""
    starts, start = {}, 0
    for stack in stacks:
        longest = max(table_sizes[edge] for edge in stack)
        for edge in stack:
            starts[int(edge)] = start
            start += longest
    return np.concatenate([starts[e] + np.arange(size) for e, size in enumerate(table_sizes)])


def _take(array: Num[Any, "..."], index: NDArray[Any]) -> Num[Any, "..."]:
    """`array[index]`, as a slice where the index counts up: a slice is free, a gather is not."""
    first, last = int(index[0]), int(index[-1])
    if np.array_equal(index, np.arange(first, last + 1)):
        return array[first : last + 1]
    return array[index]
