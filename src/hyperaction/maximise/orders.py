"""Orders in which vertices are eliminated, from the graph of which vertices share hyperedges."""

from __future__ import annotations

import math
from collections.abc import Callable

from hyperaction.hypergraph import Hypergraph

Scope = frozenset[int]

Graph = dict[int, set[int]]
"""Every vertex's neighbours: the vertices that some hyperedge joins it with."""


def graph_of(hypergraph: Hypergraph) -> Graph:
    graph: Graph = {vertex: set() for vertex in range(hypergraph.num_vertices)}
    for edge in hypergraph.edges:
        for vertex in edge:
            graph[vertex].update(edge)
    for vertex, neighbours in graph.items():
        neighbours.discard(vertex)
    return graph


def remove(graph: Graph, vertex: int, *, join: bool) -> None:
    """Takes a vertex out; where it is eliminated, its neighbours are joined by its message."""
    neighbours = graph.pop(vertex)
    for other in neighbours:
        graph[other].discard(vertex)
        if join:
            graph[other].update(neighbours - {other})


def size_of(hypergraph: Hypergraph, scope: Scope) -> int:
    return math.prod(hypergraph.sizes[vertex] for vertex in scope)


def table_size(hypergraph: Hypergraph, graph: Graph, vertex: int) -> int:
    """The entries of the table that eliminating a vertex maximises over."""
    return hypergraph.sizes[vertex] * math.prod(hypergraph.sizes[v] for v in graph[vertex])


def smallest_table(hypergraph: Hypergraph, graph: Graph) -> int:
    return min(graph, key=lambda v: (table_size(hypergraph, graph, v), v))


def least_fill(hypergraph: Hypergraph, graph: Graph) -> int:
    """The vertex whose elimination joins the fewest neighbours that were not joined before."""
    best: tuple[float, float, int] = (math.inf, math.inf, -1)
    # Those of few neighbours first: the others can then be left before all pairs are counted.
    for vertex in sorted(graph, key=lambda v: len(graph[v])):
        fill = 0
        for other in graph[vertex]:
            fill += len(graph[vertex] - graph[other]) - 1
            if fill > best[0]:
                break
        else:
            best = min(best, (fill, table_size(hypergraph, graph, vertex), vertex))
    return best[2]


def least_work(hypergraph: Hypergraph) -> int:
    """A number of table entries that no program can stay below.

    Among any vertices, the first to be eliminated has a table over all its neighbours among them,
    repeated for those that were conditioned on before. The densest vertices are found by taking
    out, again and again, the one with the smallest table.
    """
    graph = graph_of(hypergraph)
    tables = {vertex: table_size(hypergraph, graph, vertex) for vertex in graph}
    largest = 0
    while graph:
        vertex = min(tables, key=tables.__getitem__)
        largest = max(largest, tables.pop(vertex))
        for other in graph[vertex]:
            tables[other] //= hypergraph.sizes[vertex]
        remove(graph, vertex, join=False)
    return largest


def elimination_order(hypergraph: Hypergraph) -> tuple[int, ...]:
    """An order to eliminate all vertices in: the cheaper of least fill and smallest table."""
    orders = [_greedy_order(hypergraph, choose) for choose in (least_fill, smallest_table)]
    return min(orders, key=lambda order: sum(message_sizes(hypergraph, order)))


def _greedy_order(
    hypergraph: Hypergraph, choose: Callable[[Hypergraph, Graph], int]
) -> tuple[int, ...]:
    graph = graph_of(hypergraph)
    order = []
    while graph:
        order.append(choose(hypergraph, graph))
        remove(graph, order[-1], join=True)
    return tuple(order)


def message_sizes(hypergraph: Hypergraph, order: tuple[int, ...]) -> list[int]:
    """The size of the table that each elimination maximises over."""
    graph = graph_of(hypergraph)
    sizes = []
    for vertex in order:
        sizes.append(table_size(hypergraph, graph, vertex))
        remove(graph, vertex, join=True)
    return sizes


def width_of(hypergraph: Hypergraph, order: tuple[int, ...]) -> int:
    """The induced width of an order: the most neighbours that a vertex has when it goes."""
    graph = graph_of(hypergraph)
    width = 0
    for vertex in order:
        width = max(width, len(graph[vertex]))
        remove(graph, vertex, join=True)
    return width
