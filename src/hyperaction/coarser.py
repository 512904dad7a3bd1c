"""Tables on nested grids: what an entry has from its parents on coarser grids.

Growing action spaces (Farquhar et al., 2020): the value of a fine sub-action is that of its parent,
the nearest one on the coarser grid, plus what it adds itself. As outputs are linear in the heads'
hidden units, so are the weights: those of an entry are the sum of its own and of all its parents'.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.blocks import Blocks
from hyperaction.hypergraph import Hypergraph


class CoarserTables(eqx.Module):
    """Output weights and biases of the coarser grids' entries.

    Args:
        blocks: Blocks on the finest grid.
        levels: Sub-actions per vertex of every grid, the finest last; each grid is inside the next.
    """

    weights: tuple[tuple[Float[Array, "*quantiles _heads _table width"], ...], ...]
    biases: tuple[Float[Array, "*quantiles _outputs"], ...]
    levels: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, blocks: Blocks, levels: Sequence[int], *, key: PRNGKeyArray) -> None:
        hypergraph = blocks.hypergraph
        if set(hypergraph.sizes) != {levels[-1]}:
            raise ValueError(f"every vertex must have {levels[-1]} sub-actions, as the finest grid")
        features = 1 if blocks.hidden is None else blocks.hidden.weight.shape[1]
        width = blocks.weights[0].shape[-1]
        quantiles = 1 if blocks.biases.ndim == 1 else len(blocks.biases)
        made = [
            Blocks(on_level(hypergraph, level), features, width, quantiles=quantiles, key=level_key)
            for level, level_key in zip(
                levels[:-1], jax.random.split(key, len(levels) - 1), strict=True
            )
        ]
        # What finer grids add starts at zero, so that children have their parents' values.
        first, *others = made
        zeros = [jax.tree.map(jnp.zeros_like, each.weights) for each in others]
        self.weights = (first.weights, *zeros)
        self.biases = tuple(each.biases for each in made)
        self.levels = tuple(levels)

    def added_to(self, blocks: Blocks) -> Blocks:
        """Blocks on the finest grid whose entries have all of their parents' values too."""
        weights, biases = list(blocks.weights), blocks.biases
        for number, parents in enumerate(parents_of(blocks.hypergraph, self.levels)):
            for stack, place in enumerate(parents.of_stacks):
                weights[stack] = weights[stack] + self.weights[number][stack][..., place, :]
            biases = biases + self.biases[number][..., parents.of_outputs]
        new = (tuple(weights), biases)
        return eqx.tree_at(lambda each: (each.weights, each.biases), blocks, new)


def on_level(hypergraph: Hypergraph, level: int) -> Hypergraph:
    """The same hyperedges on a grid of so many sub-actions."""
    return Hypergraph((level,) * hypergraph.num_vertices, hypergraph.edges)


class Parents:
    """Where the parents of the finest grid's entries are in a coarser grid's tables."""

    def __init__(self, hypergraph: Hypergraph, level: int, parent: NDArray[np.intp]) -> None:
        coarse = on_level(hypergraph, level)
        places = {order: _places(order, level, parent) for order in map(len, hypergraph.edges)}
        self.of_stacks = [places[order] for order in sorted(places)]
        self.of_outputs = np.concatenate(
            [
                part.start + places[len(edge)]
                for edge, part in zip(hypergraph.edges, coarse.slices, strict=True)
            ]
        )


def _places(order: int, level: int, parent: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each entry of a table over so many vertices, its parent's place in the coarse table."""
    grid = np.indices((len(parent),) * order).reshape(order, -1)
    place: NDArray[np.intp] = np.ravel_multi_index(tuple(parent[grid]), (level,) * order)
    return place


@lru_cache(maxsize=64)
def parents_of(hypergraph: Hypergraph, levels: tuple[int, ...]) -> list[Parents]:
    """The parents on each of the coarser grids."""
    parents = []
    finest = np.arange(levels[-1])
    for number in range(len(levels) - 1):
        place = finest
        for coarse, fine in reversed(list(pairwise(levels[number:]))):
            place = parent(place, fine=fine, coarse=coarse)
        parents.append(Parents(hypergraph, levels[number], place))
    return parents


def parent(place: NDArray[np.intp], *, fine: int, coarse: int) -> NDArray[np.intp]:
    """The nearest sub-actions on the next coarser grid; of two, the even one."""
    return np.rint(place * (coarse - 1) / (fine - 1)).astype(np.intp)
