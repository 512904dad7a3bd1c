"""Networks with other hyperedges and the same values, as far as the new hyperedges can hold them.

A table splits into parts by the canonical form (`hyperaction.anova`): its mean, and for each subset
of its vertices what no smaller subset expresses. Under a mixer that is a fixed weighted sum (sum,
mean) this is exact:

- A hyperedge that is kept keeps its head. Where the mixer weighs it differently, as the mean does
  with another number of hyperedges, its table is rescaled.
- A hyperedge that is added has outputs of zero, and new hidden units to learn with.
- Each part of a dropped hyperedge moves to a kept one that contains its vertices, together with the
  hidden units that compute it. Parts that no kept one contains are lost, and nothing else is: their
  mean over the sub-actions of any of their vertices is zero, so that means, margins and a dueling
  network's centre stay.

Heads are of one width: that of the head with most units, the others padded with units whose output
weights are zero. Arrays may have leading axes (members of an ensemble); all functions here work on
the last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.growth import interpolation
from hyperaction.anova import Vertices
from hyperaction.blocks import Blocks, stacks_of
from hyperaction.hypergraph import Hypergraph
from hyperaction.mixers import OrderMean
from hyperaction.networks import AbstractValueNetwork, QNetwork

Module = TypeVar("Module")
Array = NDArray[Any]


class Source(NamedTuple):
    """Hidden units of an old head that a new head takes over."""

    edge: int
    """The old hyperedge."""
    parts: tuple[Vertices, ...] | None
    """The parts of its table that move with them; nothing where the table stays as it is."""


Plan = list[list[Source]]
"""For each new hyperedge, where its units come from."""


def plan(old: Hypergraph, new: Hypergraph) -> Plan:
    """Where the values of each new hyperedge come from."""
    place = {edge: index for index, edge in enumerate(old.edges)}
    sources: Plan = [[Source(place[edge], None)] if edge in place else [] for edge in new.edges]
    kept, groups = set(new.edges), [set(edge) for edge in new.edges]
    for edge in old.edges:
        if edge not in kept:
            for home, parts in _homes(edge, groups, sources).items():
                sources[home].append(Source(place[edge], tuple(parts)))
    return sources


def _homes(edge: Vertices, groups: Sequence[set[int]], sources: Plan) -> dict[int, list[Vertices]]:
    """The new hyperedges that take the parts of a dropped one: few, and those with fewest units."""
    homes: dict[int, list[Vertices]] = {}
    for part in _subsets(edge):
        fitting = [index for index in homes if groups[index].issuperset(part)] or [
            index for index, group in enumerate(groups) if group.issuperset(part)
        ]
        if fitting:
            home = min(fitting, key=lambda index: (len(sources[index]), index))
            homes.setdefault(home, []).append(part)
    return homes


def _subsets(edge: Vertices) -> list[Vertices]:
    """All subsets, large ones first, the empty one last."""
    return [part for size in range(len(edge), -1, -1) for part in combinations(edge, size)]


def needed_width(old: Blocks, new: Hypergraph) -> int:
    """The width of heads that hold all that moves to the new hyperedges."""
    most = max(len(sources) for sources in plan(old.hypergraph, new))
    return max(most, 1) * _width(old)


def restructured(
    network: QNetwork, new: Hypergraph, *, rng: np.random.Generator, width: int = 0
) -> QNetwork:
    """The network on other hyperedges of the same vertices; see the top of this file.

    Args:
        network: A network whose mixer is a fixed weighted sum.
        new: The hyperedges.
        rng: Where the weights of new hidden units come from.
        width: Hidden units per head, at least; those that are needed are there in any case.
    """
    check_fixed_sum(network)
    if new.sizes != network.hypergraph.sizes:
        raise ValueError(f"the vertices have the sizes {network.hypergraph.sizes}, not {new.sizes}")
    old, mixer = network.blocks, network.mixer
    assert old.hidden is not None
    width = max(width, needed_width(old, new))
    features = old.hidden.weight.shape[-1]
    shape = (*old.hidden.weight.shape[:-2], new.num_edges * width, features)
    limit = (6.0 / (features + width)) ** 0.5  # As all layers start: Xavier-uniform.
    hidden = rng.uniform(-limit, limit, shape).astype(np.float32)
    before = np.asarray(mixer.weights(old.hypergraph.num_edges), np.float64)
    after = np.asarray(mixer.weights(new.num_edges), np.float64)
    blocks = _moved(
        old,
        new,
        width,
        plan(old.hypergraph, new),
        scale=lambda source, index: before[source] / after[index],
        hidden=hidden,
        fill=0.0,
    )
    return _with(network, blocks=blocks, hypergraph=new)


def moved_moments(moments: QNetwork, like: QNetwork, *, power: int, fill: float) -> QNetwork:
    """A running mean of gradients of the old network, for a network that `restructured` gave.

    Heads that are kept keep theirs, scaled as their gradients are; all else starts anew.

    Args:
        moments: The means, in the shape of the old network.
        like: The new network.
        power: 1 for means of gradients, 2 for those of their squares.
        fill: What a mean is at its start.
    """
    old, new = moments.blocks.hypergraph, like.hypergraph
    before = np.asarray(like.mixer.weights(old.num_edges), np.float64)
    after = np.asarray(like.mixer.weights(new.num_edges), np.float64)
    kept = [[source for source in sources if source.parts is None] for sources in plan(old, new)]
    assert like.blocks.hidden is not None
    blocks = _moved(
        moments.blocks,
        new,
        _width(like.blocks),
        kept,
        scale=lambda source, index: (after[index] / before[source]) ** power,
        hidden=np.full(like.blocks.hidden.weight.shape, fill, np.float32),
        fill=fill,
    )
    return _with(moments, blocks=blocks, hypergraph=new)


def interpolated(network: QNetwork, grid: NDArray[np.bool_]) -> QNetwork:
    """The network whose values between the sub-actions of a grid are interpolated linearly.

    Values of joint actions on the grid stay; those between lie between, so that under a fixed
    weighted sum no other action is better than the best on the grid. Without dueling.
    """
    hypergraph, matrix = network.hypergraph, interpolation(grid)
    weights, biases = _tables(network.blocks)
    filled: list[list[Array]] = [[], []]
    for edge, table, bias in zip(hypergraph.edges, weights, biases, strict=True):
        for found, each in zip(filled, (table, bias[..., None]), strict=True):
            values = each.reshape(*each.shape[:-2], *hypergraph.table_shape(edge), each.shape[-1])
            for axis in range(each.ndim - 2, each.ndim - 2 + len(edge)):
                values = np.moveaxis(np.tensordot(values, matrix, axes=(axis, 1)), -1, axis)
            found.append(values.reshape(each.shape))
    blocks = network.blocks
    stacks = stacks_of(hypergraph.table_sizes)
    dtype = blocks.biases.dtype
    all_biases = np.concatenate([bias[..., 0] for bias in filled[1]], axis=-1)
    return _with(
        network,
        blocks=_with(
            blocks,
            weights=tuple(
                jnp.asarray(_stacked([filled[0][edge] for edge in stack]), dtype)
                for stack in stacks
            ),
            biases=jnp.asarray(all_biases, dtype),
        ),
    )


def check_fixed_sum(network: AbstractValueNetwork) -> None:
    """Refuses a mixer under which values cannot move between hyperedges."""
    by_order = isinstance(network.mixer, OrderMean)  # It knows one number of hyperedges only.
    if not network.mixer.affine or by_order or jax.tree.leaves(network.mixer):
        raise ValueError(
            f"hyperedges can change under a fixed weighted sum, such as the mixers sum and mean, "
            f"not under {type(network.mixer).__name__}"
        )


def _moved(
    old: Blocks,
    new: Hypergraph,
    width: int,
    sources: Plan,
    *,
    scale: Callable[[int, int], float],
    hidden: Array,
    fill: float,
) -> Blocks:
    """Blocks on the new hyperedges, with what each has from old ones in its place."""
    span = _width(old)
    assert old.hidden is not None
    old_rows = np.asarray(old.hidden.weight)
    assert old.hidden.bias is not None
    old_biases = np.asarray(old.hidden.bias)
    hidden_bias = np.full((*old_biases.shape[:-1], new.num_edges * width), fill, np.float32)
    weights, biases = _tables(old)
    new_weights = [
        np.full((*weights[0].shape[:-2], size, width), fill, np.float64) for size in new.table_sizes
    ]
    new_biases = [
        np.full((*biases[0].shape[:-1], size), fill, np.float64) for size in new.table_sizes
    ]
    for index, edge in enumerate(new.edges):
        for number, (source, parts) in enumerate(sources[index]):
            rows = slice(index * width + number * span, index * width + (number + 1) * span)
            from_rows = slice(source * span, (source + 1) * span)
            hidden[..., rows, :] = old_rows[..., from_rows, :]
            hidden_bias[..., rows] = old_biases[..., from_rows]
            table, bias = weights[source], biases[source][..., None]
            if parts is not None:
                from_edge = old.hypergraph.edges[source]
                table, bias = (
                    _projected(each, from_edge, edge, parts, new) for each in (table, bias)
                )
            factor = scale(source, index)
            new_weights[index][..., number * span : (number + 1) * span] = factor * table
            new_biases[index] = (new_biases[index] if number else 0.0) + factor * bias[..., 0]
    layer = _with(
        old.hidden,
        weight=jnp.asarray(hidden),
        bias=jnp.asarray(hidden_bias),
        out_features=new.num_edges * width,
    )
    dtype = old.biases.dtype
    return _with(
        old,
        hidden=layer,
        weights=tuple(
            jnp.asarray(_stacked([new_weights[edge] for edge in stack]), dtype)
            for stack in stacks_of(new.table_sizes)
        ),
        biases=jnp.asarray(np.concatenate(new_biases, axis=-1), dtype),
        hypergraph=new,
    )


def _projected(
    table: Array, old: Vertices, new: Vertices, parts: Sequence[Vertices], hypergraph: Hypergraph
) -> Array:
    """The sum of parts of a table, `[..., entries, units]`, as a table of another hyperedge."""
    lead, units = table.shape[:-2], table.shape[-1]
    table = table.astype(np.float64).reshape(*lead, *hypergraph.table_shape(old), units)
    total = np.zeros((*lead, *hypergraph.table_shape(new), units))
    for part in parts:
        piece = table
        for axis, vertex in enumerate(old, start=len(lead)):
            mean = piece.mean(axis=axis, keepdims=True)
            piece = piece - mean if vertex in part else mean
        shape = (hypergraph.sizes[vertex] if vertex in part else 1 for vertex in new)
        total = total + piece.reshape(*lead, *shape, units)
    return total.reshape(*lead, -1, units)


def _tables(blocks: Blocks) -> tuple[list[Array], list[Array]]:
    """Each hyperedge's output weights, `[..., table, width]`, and biases, `[..., table]`."""
    sizes = blocks.hypergraph.table_sizes
    weights: dict[int, Array] = {}
    for stack, stacked in zip(stacks_of(sizes), blocks.weights, strict=True):
        array = np.asarray(stacked)
        for number, edge in enumerate(stack):
            weights[int(edge)] = array[..., number, : sizes[edge], :]
    biases = np.asarray(blocks.biases)
    return (
        [weights[edge] for edge in range(len(sizes))],
        [biases[..., span] for span in blocks.hypergraph.slices],
    )


def _stacked(tables: Sequence[Array]) -> Array:
    """Tables of one stack, padded with zeros to the longest."""
    longest = max(table.shape[-2] for table in tables)
    lead = [(0, 0)] * (tables[0].ndim - 2)
    padded = [np.pad(t, [*lead, (0, longest - t.shape[-2]), (0, 0)]) for t in tables]
    return np.stack(padded, axis=-3)


def _width(blocks: Blocks) -> int:
    assert blocks.hidden is not None
    return int(blocks.hidden.weight.shape[-2]) // blocks.hypergraph.num_edges


def _with(module: Module, **changes: Any) -> Module:
    """The module with other values of some fields, also of static ones."""
    new = object.__new__(type(module))
    for each in fields(module):  # type: ignore[arg-type]
        object.__setattr__(new, each.name, changes.get(each.name, getattr(module, each.name)))
    return new
