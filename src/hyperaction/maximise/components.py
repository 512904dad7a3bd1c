"""Hyperedges that share no vertex are independent problems, for mixers that are weighted sums."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractSoftWay, AbstractWay, Problem, Solution, sum_of
from hyperaction.mixers import AbstractMixer, Sum


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

    def outputs(self, hypergraph: Hypergraph) -> NDArray[np.int64]:
        """Where its hyperedges' tables are in the outputs of the whole."""
        return np.concatenate([np.r_[hypergraph.slices[edge]] for edge in self.edges])


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


class Components(AbstractSoftWay):
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
        for part, way, alone in self._alone(problem, tables):
            solution = way.solve(alone)
            actions = actions.at[:, np.array(part.vertices)].set(solution.actions)
            if way.exact:
                bounds = bounds + alone.values(solution.actions)
            elif solution.bounds is not None:
                bounds = bounds + solution.bounds
            else:
                bounded = False
        return Solution(actions, bounds if bounded else None)

    def seconds(self, states: int) -> float:
        return sum(way.seconds(states) for way in self.ways)

    def width(self, hypergraph: Hypergraph) -> int | None:
        parts = zip(parts_of(hypergraph), self.ways, strict=True)
        widths = [way.width(part.of(hypergraph)) for part, way in parts]
        return max((width for width in widths if width is not None), default=None)

    def softens(self, mixer: AbstractMixer) -> bool:
        return all(isinstance(way, AbstractSoftWay) and way.softens(Sum()) for way in self.ways)

    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        tables = problem.tables()
        values = jnp.zeros(tables.shape[0], tables.dtype)
        for _, way, alone in self._softly(problem, tables):
            values = values + way.soft(alone, temperature)
        return values

    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        marginals = tables = problem.tables()
        values = jnp.zeros(tables.shape[0], tables.dtype)
        for part, way, alone in self._softly(problem, tables):
            own_values, own_marginals = way.marginals(alone, temperature)
            values = values + own_values
            place = part.outputs(problem.hypergraph)
            marginals = marginals.at[:, place].set(own_marginals)
        return values, marginals

    def sample(
        self, problem: Problem, temperature: Float[Array, " batch"], key: PRNGKeyArray
    ) -> Int[Array, "batch vertices"]:
        hypergraph, tables = problem.hypergraph, problem.tables()
        actions = jnp.zeros((tables.shape[0], hypergraph.num_vertices), jnp.int32)
        for part, way, alone in self._softly(problem, tables):
            own_key = jax.random.fold_in(key, part.vertices[0])
            drawn = way.sample(alone, temperature, own_key)
            actions = actions.at[:, np.array(part.vertices)].set(drawn)
        return actions

    def _alone(
        self, problem: Problem, tables: Float[Array, "batch outputs"]
    ) -> Iterator[tuple[Part, AbstractWay, Problem]]:
        """Every part, its way, and what it is to maximise."""
        hypergraph, given = problem.hypergraph, problem.candidates
        for part, way in zip(parts_of(hypergraph), self.ways, strict=True):
            own = tables[:, part.outputs(hypergraph)]
            candidates = None if given is None else given[:, np.array(part.vertices)]
            alone = sum_of(own, part.of(hypergraph), candidates, bounded=problem.bounded)
            if problem.start is not None:
                start = problem.start[:, np.array(part.vertices)]
                alone = eqx.tree_at(lambda p: p.start, alone, start, is_leaf=lambda x: x is None)
            yield part, way, alone

    def _softly(
        self, problem: Problem, tables: Float[Array, "batch outputs"]
    ) -> Iterator[tuple[Part, AbstractSoftWay, Problem]]:
        for part, way, alone in self._alone(problem, tables):
            assert isinstance(way, AbstractSoftWay)
            yield part, way, alone
