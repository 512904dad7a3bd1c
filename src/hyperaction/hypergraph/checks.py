"""Checked arguments of hypergraphs, with messages that say what is allowed."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

HIGHEST = -1
"""The order that stands for the hyperedge of all vertices, whatever their number."""

MAX_EDGES = 1_000_000
"""Complete hypergraphs grow combinatorially; past this one was surely not meant."""

MAX_STRIDES = 2**27
"""The most vertices times hyperedges that are indexed: half a gigabyte of strides."""


def checked_sizes(sizes: Iterable[int]) -> tuple[int, ...]:
    """The sizes of vertices as integers."""
    checked = tuple(integer(size, "size") for size in sizes)
    if not checked:
        raise ValueError("no vertices: sizes is empty; give the number of sub-actions of each")
    for vertex, size in enumerate(checked):
        if size < 1:
            raise ValueError(f"vertex {vertex} has size {size}; a vertex has at least 1 sub-action")
    return checked


def checked_edges(
    sizes: tuple[int, ...], edges: Iterable[Iterable[int]], names: Sequence[str] = ()
) -> tuple[tuple[int, ...], ...]:
    """Hyperedges as sorted tuples, every vertex in at least one.

    Args:
        sizes: The sub-actions of each vertex.
        edges: The hyperedges.
        names: The names of the vertices, for messages.
    """
    n = len(sizes)

    def called(vertices: Sequence[int]) -> list[Any]:
        return [names[vertex] if names else vertex for vertex in vertices]

    seen: dict[tuple[int, ...], int] = {}
    for position, given in enumerate(edges):
        if isinstance(given, (int, np.integer)):
            raise ValueError(
                f"hyperedge {position} is {given}, a number; a hyperedge is a collection of "
                f"vertices, such as ({given},)"
            )
        edge = tuple(sorted(integer(vertex, "vertex") for vertex in given))
        if not edge:
            raise ValueError(f"hyperedge {position} is empty; it needs at least one vertex")
        for vertex in edge:
            if not 0 <= vertex < n:
                raise ValueError(
                    f"hyperedge {braced(edge)} names vertex {vertex}, but there "
                    f"{'is' if n == 1 else 'are'} only {count_of(n, 'vertex', 'vertices')} "
                    f"(0 to {n - 1})"
                )
        if len(set(edge)) < len(edge):
            raise ValueError(
                f"hyperedge {braced(called(edge))} names a vertex twice; once is allowed"
            )
        if edge in seen:
            raise ValueError(
                f"hyperedge {braced(called(edge))} is given twice (positions {seen[edge]} and "
                f"{position}); each may be given once"
            )
        seen[edge] = position
    uncovered = sorted(set(range(n)).difference(*seen))
    if uncovered:
        listed = ", ".join(map(str, called(uncovered[:8]))) + (
            ", ..." if len(uncovered) > 8 else ""
        )
        raise ValueError(
            f"no hyperedge covers {'vertex' if len(uncovered) == 1 else 'vertices'} {listed}; "
            f"every vertex needs one, for example {braced(called(uncovered[:1]))}"
        )
    return tuple(seen)


def checked_order(order: int, num_vertices: int, word: str) -> int:
    """An order, or a rank, on so many vertices."""
    order = integer(order, word)
    if order == HIGHEST:
        return num_vertices
    if not 1 <= order <= num_vertices:
        raise ValueError(
            f"{word} {order} on {count_of(num_vertices, 'vertex', 'vertices')}; "
            f"allowed are 1 to {num_vertices}, and -1 for the highest"
        )
    return order


def check_last_axis(name: str, array: Any, expected: int, meaning: str) -> None:
    """Refuses an array whose last axis is of another length."""
    if array.ndim == 0 or array.shape[-1] != expected:
        raise ValueError(
            f"{name} have shape {tuple(array.shape)}; their last axis must be {expected} long, "
            f"{meaning}"
        )


def integer(value: Any, word: str) -> int:
    """A whole number of any type."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{word} {value!r} is not a whole number") from None


def braced(edge: Sequence[Any]) -> str:
    """A hyperedge as messages write it."""
    return "{" + ", ".join(map(str, edge)) + "}"


def count_of(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
