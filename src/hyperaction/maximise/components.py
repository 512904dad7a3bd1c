"""Hyperedges that share no vertex are independent problems, for mixers that are weighted sums."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay, Problem, Solution
from hyperaction.mixers import Sum


class Part(NamedTuple):
    """Vertices that no hyperedge joins with others, and the hyperedges on them."""

    vertices: tuple[int, ...]
    edges: tuple[int, ...]

    def of(self, hypergraph: Hypergraph) -> Hypergraph:
        """The part as a hypergraph of its own."""
        number = {vertex: new for new, vertex in enumerate(self.vertices)}
        return Hypergraph(
            [hypergraph.sizes[vertex] for vertex in self.vertices],
            [[number[vertex] for vertex in hypergraph.edges[edge]] for edge in self.edges],
        )


@lru_cache(maxsize=64)
def parts_of(hypergraph: Hypergraph) -> tuple[Part, ...]:
    """The connected parts of a hypergraph, by their first vertex."""
    groups: list[set[int]] = []
    for edge in hypergraph.edges:
        touched = [group for group in groups if group.intersection(edge)]
        groups = [group for group in groups if group not in touched]
        groups.append(set(edge).union(*touched))
    return tuple(
        Part(
            tuple(sorted(group)),
            tuple(place for place, edge in enumerate(hypergraph.edges) if edge[0] in group),
        )
        for group in sorted(groups, key=min)
    )


class Components(AbstractWay):
    """Every part is maximised in its own way."""

    name: ClassVar[str] = "components"
    ways: tuple[AbstractWay, ...] = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return all(way.exact for way in self.ways)

    def solve(self, problem: Problem) -> Solution:
        hypergraph, tables = problem.hypergraph, problem.tables()
        actions = jnp.zeros((tables.shape[0], hypergraph.num_vertices), jnp.int32)
        bounds = jnp.zeros(tables.shape[0])
        bounded = True
        for part, way in zip(parts_of(hypergraph), self.ways, strict=True):
            place = np.concatenate([np.r_[hypergraph.slices[edge]] for edge in part.edges])
            # Weighted and masked already: what is left to maximise is a sum.
            given = problem.candidates
            candidates = None if given is None else given[:, np.array(part.vertices)]
            alone = Problem(
                Sum(),
                tables[:, place],
                None,
                None,
                candidates,
                part.of(hypergraph),
                problem.bounded,
            )
            solution = way.solve(alone)
            actions = actions.at[:, np.array(part.vertices)].set(solution.actions)
            if way.exact:
                bounds = bounds + alone.values(solution.actions)
            elif solution.bounds is not None:
                bounds = bounds + solution.bounds
            else:
                bounded = False
        return Solution(actions, bounds if bounded else None)

    def width(self, hypergraph: Hypergraph) -> int | None:
        parts = zip(parts_of(hypergraph), self.ways, strict=True)
        widths = [way.width(part.of(hypergraph)) for part, way in parts]
        return max((width for width in widths if width is not None), default=None)
