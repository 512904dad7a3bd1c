"""The hyperedges of trees, chains and grids, whose joint actions can be maximised exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from hyperaction.hypergraph.checks import MAX_EDGES, checked_order, count_of, integer

Edges = list[tuple[int, ...]]


def tree_edges(num_vertices: int, parents: Iterable[int | None], rank: int) -> Edges:
    """Every vertex with up to `rank` - 1 of its nearest ancestors."""
    rank = _checked_rank(rank, num_vertices)
    above = _checked_parents(num_vertices, parents)
    _check_count(num_vertices * rank)
    edges: Edges = []
    for vertex in range(num_vertices):
        path = [vertex]
        edges.append((vertex,))
        while len(path) < rank and above[path[-1]] >= 0:
            path.append(above[path[-1]])
            edges.append(tuple(path))
    return _sorted(edges)


def chain_edges(num_vertices: int, chains: Iterable[Iterable[int]], rank: int) -> Edges:
    """Every vertex, and up to `rank` consecutive vertices of each chain."""
    rank = _checked_rank(rank, num_vertices)
    rows = [_checked_chain(num_vertices, place, chain) for place, chain in enumerate(chains)]
    return _runs(num_vertices, rows, rank)


def grid_edges(num_vertices: int, shape: Iterable[int], rank: int) -> Edges:
    """Every vertex, and up to `rank` consecutive vertices along each axis."""
    lengths = tuple(integer(length, "shape") for length in shape)
    if not lengths or min(lengths) < 1 or math.prod(lengths) != num_vertices:
        raise ValueError(
            f"shape {lengths} is not that of {count_of(num_vertices, 'vertex', 'vertices')}: its "
            f"lengths must be at least 1, and their product is the number of sizes"
        )
    rank = _checked_rank(rank, num_vertices)
    vertices = np.arange(num_vertices).reshape(lengths)
    rows: list[Sequence[int]] = []
    for axis, length in enumerate(lengths):
        rows += np.moveaxis(vertices, axis, -1).reshape(-1, length).tolist()
    return _runs(num_vertices, rows, rank)


def _runs(num_vertices: int, rows: Sequence[Sequence[int]], rank: int) -> Edges:
    """Every vertex, and all runs of 2 to `rank` vertices in any of the rows, each once."""
    _check_count(num_vertices + sum(len(row) * (min(rank, len(row)) - 1) for row in rows if row))
    edges: Edges = [(vertex,) for vertex in range(num_vertices)]
    for row in rows:
        for length in range(2, min(rank, len(row)) + 1):
            edges += [tuple(row[i : i + length]) for i in range(len(row) - length + 1)]
    return _sorted(edges)


def _sorted(edges: Edges) -> Edges:
    """By order, then by vertices; equal ones once."""
    return sorted({tuple(sorted(edge)) for edge in edges}, key=lambda edge: (len(edge), edge))


def _checked_rank(rank: int, num_vertices: int) -> int:
    """The longest run of vertices; those that a family is too small for are left out."""
    return checked_order(min(integer(rank, "rank"), num_vertices), num_vertices, "rank")


def _check_count(at_most: int) -> None:
    if at_most > MAX_EDGES:
        raise ValueError(
            f"rank makes up to {at_most:,} hyperedges, more than the {MAX_EDGES:,} allowed; "
            f"choose a lower one"
        )


def _checked_parents(num_vertices: int, parents: Iterable[int | None]) -> list[int]:
    """Each vertex's parent, -1 for none; refuses what is not a forest."""
    above = [-1 if parent is None else integer(parent, "parent") for parent in parents]
    if len(above) != num_vertices:
        raise ValueError(
            f"parents has {count_of(len(above), 'entry', 'entries')} for "
            f"{count_of(num_vertices, 'vertex', 'vertices')}; give one each, -1 for a root"
        )
    for vertex, parent in enumerate(above):
        if not -1 <= parent < num_vertices:
            raise ValueError(
                f"parents: vertex {vertex} has the parent {parent}; allowed are 0 to "
                f"{num_vertices - 1}, and -1 for a root"
            )
    rooted = {-1}
    for vertex in range(num_vertices):
        path: list[int] = []
        while vertex not in rooted:
            if vertex in path[:1] or len(path) > num_vertices:
                raise ValueError(f"parents: vertex {vertex} is its own ancestor; a tree has a root")
            path.append(vertex)
            vertex = above[vertex]
        rooted.update(path)
    return above


def _checked_chain(num_vertices: int, place: int, chain: Iterable[int]) -> list[int]:
    if isinstance(chain, (int, np.integer)):
        raise ValueError(
            f"chains: chain {place} is {chain}, a number; a chain is vertices in a row"
        )
    row = [integer(vertex, "vertex") for vertex in chain]
    for vertex in row:
        if not 0 <= vertex < num_vertices:
            raise ValueError(
                f"chains: chain {place} names vertex {vertex}; allowed are 0 to {num_vertices - 1}"
            )
    if len(set(row)) < len(row):
        raise ValueError(f"chains: chain {place} names a vertex twice; once is allowed")
    return row
