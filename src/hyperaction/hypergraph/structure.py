"""What a hypergraph is, and how actions index its outputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from hyperaction.hypergraph.checks import (
    MAX_EDGES,
    MAX_STRIDES,
    braced,
    check_last_axis,
    checked_edges,
    checked_order,
    checked_sizes,
    count_of,
)
from hyperaction.hypergraph.families import chain_edges, grid_edges, tree_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, repr=False)
class Hypergraph:
    """Hyperedges on the vertices (dimensions) of an action space.

    All hyperedges' values live side by side in one flat array, `outputs[..., num_outputs]`: first
    the table of the first hyperedge, then that of the second, and so on. A table holds one value
    for each combination of the hyperedge's sub-actions, the last vertex changing fastest.

    Args:
        sizes: The number of sub-actions of each vertex.
        edges: The hyperedges, each a collection of vertices counted from zero.
    """

    sizes: tuple[int, ...]
    edges: tuple[tuple[int, ...], ...]

    def __init__(self, sizes: Iterable[int], edges: Iterable[Iterable[int]]) -> None:
        sizes = checked_sizes(sizes)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "edges", checked_edges(sizes, edges))

    @classmethod
    def complete(cls, sizes: Iterable[int], rank: int) -> Hypergraph:
        """All hyperedges of the orders 1 to `rank`: the paper's union of c-complete hypergraphs."""
        sizes = checked_sizes(sizes)
        rank = checked_order(rank, len(sizes), "rank")
        return cls.of_orders(sizes, range(1, rank + 1))

    @classmethod
    def of_orders(cls, sizes: Iterable[int], orders: Iterable[int]) -> Hypergraph:
        """All hyperedges of the given orders; the order -1 is the hyperedge of all vertices."""
        sizes = checked_sizes(sizes)
        n = len(sizes)
        chosen = sorted({checked_order(order, n, "order") for order in orders})
        if not chosen:
            raise ValueError(f"no orders given; allowed are 1 to {n}, and -1 for the highest")
        count = sum(math.comb(n, order) for order in chosen)
        if count > MAX_EDGES:
            raise ValueError(
                f"orders {chosen} on {n} vertices make {count:,} hyperedges, more than the "
                f"{MAX_EDGES:,} allowed; choose lower orders or give the hyperedges by hand"
            )
        return cls(sizes, (edge for order in chosen for edge in combinations(range(n), order)))

    @classmethod
    def from_tree(
        cls, sizes: Iterable[int], parents: Iterable[int | None], rank: int = 2
    ) -> Hypergraph:
        """Every vertex by itself, and with its nearest ancestors in a tree, up to `rank` in a row.

        Elimination is exact on any such tree, at a cost that grows linearly with its vertices.

        Args:
            sizes: The number of sub-actions of each vertex.
            parents: The parent of each vertex; None or -1 for a root, of which there may be many.
            rank: The most vertices of a hyperedge: 2 joins parents and children.
        """
        sizes = checked_sizes(sizes)
        return cls(sizes, tree_edges(len(sizes), parents, rank))

    @classmethod
    def from_chains(
        cls, sizes: Iterable[int], chains: Iterable[Iterable[int]], rank: int = 2
    ) -> Hypergraph:
        """Every vertex by itself, and up to `rank` consecutive vertices of each chain.

        Args:
            sizes: The number of sub-actions of each vertex.
            chains: Vertices in a row, such as a leg's joints; chains may share vertices, and a
                vertex may be in none.
            rank: The most vertices of a hyperedge: 2 joins neighbours.
        """
        sizes = checked_sizes(sizes)
        return cls(sizes, chain_edges(len(sizes), chains, rank))

    @classmethod
    def grid(cls, sizes: Iterable[int], shape: Iterable[int], rank: int = 2) -> Hypergraph:
        """Every vertex by itself, and up to `rank` neighbours in a row along each axis of a grid.

        Args:
            sizes: The number of sub-actions of each vertex, the last axis changing fastest.
            shape: The grid's length along each of its axes.
            rank: The most vertices of a hyperedge: 2 joins neighbours.
        """
        sizes = checked_sizes(sizes)
        return cls(sizes, grid_edges(len(sizes), shape, rank))

    @property
    def num_vertices(self) -> int:
        return len(self.sizes)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @property
    def num_actions(self) -> int:
        """The number of joint actions, exact however large."""
        return math.prod(self.sizes)

    @cached_property
    def rank(self) -> int:
        """The order of the largest hyperedge."""
        return max(len(edge) for edge in self.edges)

    @cached_property
    def table_sizes(self) -> tuple[int, ...]:
        """The number of outputs of each hyperedge."""
        return tuple(math.prod(self.table_shape(edge)) for edge in self.edges)

    @cached_property
    def num_outputs(self) -> int:
        """The number of outputs of all hyperedges together."""
        return sum(self.table_sizes)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Each hyperedge's place in the outputs."""
        stops = np.cumsum(self.table_sizes, dtype=object)
        return tuple(
            slice(stop - size, stop) for stop, size in zip(stops, self.table_sizes, strict=True)
        )

    @cached_property
    def offsets(self) -> NDArray[np.int32]:
        """Where each hyperedge's table starts in the outputs, `[num_edges]`."""
        self.check_indexable()
        return np.array([part.start for part in self.slices], np.int32)

    @cached_property
    def strides(self) -> NDArray[np.int32]:
        """How far one sub-action moves each hyperedge's index, `[num_vertices, num_edges]`."""
        self.check_indexable()
        strides = np.zeros((self.num_vertices, self.num_edges), np.int32)
        for column, edge in enumerate(self.edges):
            stride = 1
            for vertex in reversed(edge):
                strides[vertex, column] = stride
                stride *= self.sizes[vertex]
        return strides

    @cached_property
    def edge_of_output(self) -> NDArray[np.int32]:
        """The hyperedge that each output belongs to, `[num_outputs]`."""
        self.check_indexable()
        return np.repeat(np.arange(self.num_edges, dtype=np.int32), self.table_sizes)

    def table_shape(self, edge: Sequence[int]) -> tuple[int, ...]:
        """The shape of a hyperedge's table, one axis per vertex."""
        return tuple(self.sizes[vertex] for vertex in edge)

    def indices(self, actions: Any) -> Any:
        """The one output per hyperedge that belongs to each action, `[..., num_edges]`.

        An integer product of the actions with the strides. Actions on the host (lists and NumPy
        arrays) are checked; JAX arrays, which may be traced, are trusted to be in range.
        """
        if not hasattr(actions, "__array_namespace__"):
            actions = np.asarray(actions)
        check_last_axis("actions", actions, self.num_vertices, "one per vertex")
        if isinstance(actions, np.ndarray):
            self._check_range(actions)
            actions = actions.astype(np.int32)
        return actions @ self.strides + self.offsets

    def representation(self, outputs: Any, actions: Any) -> Any:
        """The representation of each action: its one value per hyperedge, `[..., num_edges]`.

        Leading axes broadcast: one state's outputs with many actions, many with one, or as many
        of each. Takes NumPy and JAX arrays; where both are NumPy's, so is the answer.
        """
        if not hasattr(outputs, "__array_namespace__"):
            outputs = np.asarray(outputs)
        check_last_axis("outputs", outputs, self.num_outputs, "one per output")
        indices = self.indices(actions)
        if isinstance(outputs, np.ndarray) and not isinstance(indices, np.ndarray):
            outputs = indices.__array_namespace__().asarray(outputs)
        axes = max(outputs.ndim, indices.ndim)
        outputs = outputs.reshape((1,) * (axes - outputs.ndim) + outputs.shape)
        indices = indices.reshape((1,) * (axes - indices.ndim) + indices.shape)
        return outputs.__array_namespace__().take_along_axis(outputs, indices, axis=-1)

    def all_actions(self) -> NDArray[np.int32]:
        """Every joint action, `[num_actions, num_vertices]`, the last vertex changing fastest."""
        grid = np.indices(self.sizes, dtype=np.int32)
        return grid.reshape(self.num_vertices, -1).T

    @cached_property
    def _hash(self) -> int:
        return hash((self.sizes, self.edges))

    def __hash__(self) -> int:
        # Stored: compiled programs are looked up by it at every call, and edges can be many.
        return self._hash

    def __repr__(self) -> str:
        if self.num_edges <= 16:
            return f"Hypergraph(sizes={self.sizes}, edges={self.edges})"
        return f"<{self._summary()}>"

    def __str__(self) -> str:
        lines = [self._summary()]
        for order in sorted({len(edge) for edge in self.edges}):
            names = [braced(edge) for edge in self.edges if len(edge) == order]
            shown = names if len(names) <= 8 else [*names[:7], f"... {names[-1]}"]
            lines.append(f"  order {order} ({len(names)}): {' '.join(shown)}")
        return "\n".join(lines)

    def _summary(self) -> str:
        counts = Counter(self.sizes)
        sizes = " x ".join(map(str, self.sizes))
        if len(counts) == 1 and self.num_vertices > 1:
            sizes = f"{self.sizes[0]} each"
        return (
            f"Hypergraph of rank {self.rank}: "
            f"{count_of(self.num_vertices, 'vertex', 'vertices')} ({sizes}), "
            f"{count_of(self.num_edges, 'hyperedge')}, "
            f"{count_of(self.num_outputs, 'output')} for "
            f"{count_of(self.num_actions, 'joint action')}"
        )

    def check_indexable(self) -> None:
        """Raises `ValueError` where outputs or strides are more than arrays of them can hold."""
        if self.num_outputs > np.iinfo(np.int32).max:
            raise ValueError(
                f"the hyperedges have {self.num_outputs:,} outputs together, more than an array "
                f"can hold (2,147,483,647); choose lower orders"
            )
        if self.num_vertices * self.num_edges > MAX_STRIDES:
            raise ValueError(
                f"{self.num_vertices:,} vertices times {self.num_edges:,} hyperedges are more than "
                f"the {MAX_STRIDES:,} allowed; choose lower orders or give the hyperedges by hand"
            )

    def _check_range(self, actions: NDArray[Any]) -> None:
        if not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"actions are integers (sub-actions), not {actions.dtype}")
        wrong = (actions < 0) | (actions >= np.array(self.sizes))
        if wrong.any():
            *_, vertex = place = tuple(np.argwhere(wrong)[0])
            raise ValueError(
                f"sub-action {actions[place]} of vertex {vertex} is out of range: "
                f"it has {count_of(self.sizes[vertex], 'sub-action')} "
                f"(0 to {self.sizes[vertex] - 1})"
            )
