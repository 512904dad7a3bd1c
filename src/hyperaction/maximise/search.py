"""Searching dense hypergraphs past the reach of elimination, for mixers that are weighted sums.

On the CPU the compiled kernel does it: tabu search finds a good answer, and messages between the
tables and branch and bound prove it or bound it. Everywhere else it is coordinate ascent in JAX.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from hyperaction import kernels
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay, Problem, Solution
from hyperaction.maximise.cost import Rate

TABU_STEPS = 2_000
"""At rank two at most."""
MORE_STEPS = 8_000
"""Above it: there are more local optima."""
MESSAGES = 20
"""Sweeps of messages that tighten bounds."""
NODES = 200_000
"""Nodes of branch and bound."""
NO_NODES = -1
"""No branch and bound at all."""
MOST_OUTPUTS = 2**22
SEARCH_RATE = Rate(0.19)
"""Of the kernel's adds."""
VERTEX_ADDS = 48
"""What a tabu step takes for each vertex besides adds, in adds."""
COPY_ADDS = 5
"""What copying an entry takes, in adds."""
STEPS_PER_NODE = 1.6
"""What a node takes, in tabu steps."""
MESSAGE_ADDS = 500
"""What all sweeps of messages take for each output, in adds of the search."""
RESTARTS = 32
SWEEPS = 12


@lru_cache(maxsize=64)
def structure(hypergraph: Hypergraph) -> NDArray[np.int32]:
    """A hypergraph as the kernel reads it (see kernels/tables.h)."""
    header = [hypergraph.num_outputs, hypergraph.num_vertices, hypergraph.num_edges]
    edges = [
        [len(edge), start, *edge]
        for edge, start in zip(hypergraph.edges, hypergraph.offsets, strict=True)
    ]
    return np.concatenate([header, hypergraph.sizes, *edges]).astype(np.int32)


class Limits(NamedTuple):
    """What the kernel's search may do, as `kernels.search` takes it."""

    steps: int
    sweeps: int
    nodes: int


class Tabu(AbstractWay):
    """Coordinate ascent that continues past local optima: tabu search in the compiled kernel."""

    name: ClassVar[str] = "ascent"
    rate: ClassVar[Rate] = SEARCH_RATE
    proves: ClassVar[bool] = True
    steps: int = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return False

    @property
    def limits(self) -> Limits:
        """A sweep of messages proves many learned values best, after a tenth of the search."""
        return Limits(self.steps, 1, NO_NODES)

    def solve(self, problem: Problem) -> Solution:
        if problem.bounded:
            return _searched(problem, Limits(self.steps, MESSAGES, 0))
        return Solution(_searched(problem, self.limits).actions)


class BranchAndBound(AbstractWay):
    """Exact search with bounds; where its nodes run out, the best answer found and a bound."""

    name: ClassVar[str] = "branch-and-bound"
    rate: ClassVar[Rate] = SEARCH_RATE
    proves: ClassVar[bool] = True
    steps: int = eqx.field(static=True)
    nodes: int = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return False

    @property
    def limits(self) -> Limits:
        """All of its nodes, after the messages."""
        return Limits(self.steps, MESSAGES, self.nodes)

    def solve(self, problem: Problem) -> Solution:
        return _searched(problem, self.limits)


def _searched(problem: Problem, limits: Limits) -> Solution:
    """What the kernel finds from the best candidate on."""
    tables, plan = problem.tables(), structure(problem.hypergraph)
    start = _best_candidates(problem, finite(tables))
    return Solution(*kernels.search(tables, plan, start=start, **limits._asdict()))


def _best_candidates(
    problem: Problem, tables: Float[Array, "batch outputs"]
) -> Int[Array, "batch vertices"] | None:
    """Each state's best candidate or allowed action, if there are any."""
    given = _starts(problem)
    if given is None:
        return None
    values = problem.hypergraph.representation(tables[:, None], given).sum(axis=-1)
    return jnp.take_along_axis(given, jnp.argmax(values, axis=1)[:, None, None], axis=1)[:, 0]


def _starts(problem: Problem) -> Int[Array, "batch n vertices"] | None:
    """What each state is given to start from."""
    batch, given = problem.outputs.shape[0], []
    if problem.candidates is not None and problem.candidates.shape[0]:
        shape = (batch, *problem.candidates.shape)
        given.append(jnp.broadcast_to(problem.candidates, shape))
    if problem.start is not None:
        given.append(problem.start[:, None])
    return jnp.concatenate(given, axis=1) if given else None


class Ascent(AbstractWay):
    """Coordinate ascent with restarts: vertex after vertex takes its best sub-action."""

    name: ClassVar[str] = "ascent"
    rate: ClassVar[Rate] = Rate(8.0)
    restarts: int = eqx.field(static=True)
    sweeps: int = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return False

    def solve(self, problem: Problem) -> Solution:
        hypergraph, tables = problem.hypergraph, finite(problem.tables())
        around = _around(hypergraph)
        # One more output, zero, is what the padding of short lists of hyperedges points to.
        tables = jnp.pad(tables, ((0, 0), (0, 1)))
        key = jax.random.key(0)  # The same inputs give the same action.
        sizes = np.array(hypergraph.sizes)
        shape = (self.restarts, hypergraph.num_vertices)
        starts = jax.random.randint(key, shape, 0, sizes).astype(jnp.int32)
        starts = jnp.broadcast_to(starts, (tables.shape[0], *shape))
        if (given := _starts(problem)) is not None:
            starts = jnp.concatenate([given, starts], axis=1)

        def climb(
            table: Float[Array, " outputs"], start: Int[Array, " vertices"]
        ) -> tuple[Float[Array, ""], Int[Array, " vertices"]]:
            def visit(step: Int[Array, ""], action: Int[Array, " vertices"]) -> Array:
                vertex = step % hypergraph.num_vertices
                base = around.offsets[vertex] + around.strides[vertex] @ action
                base = base - around.own[vertex] * action[vertex]
                places = base + around.columns[:, None] * around.own[vertex]
                worth = table[jnp.where(around.real[vertex], places, -1)].sum(axis=-1)
                worth = jnp.where(around.columns < around.sizes[vertex], worth, -jnp.inf)
                return action.at[vertex].set(jnp.argmax(worth).astype(jnp.int32))

            steps = self.sweeps * hypergraph.num_vertices
            action = jax.lax.fori_loop(0, steps, visit, start)
            return hypergraph.representation(table[:-1], action).sum(), action

        values, actions = jax.vmap(jax.vmap(climb, in_axes=(None, 0)))(tables, starts)
        best = jnp.argmax(values, axis=1)
        return Solution(jnp.take_along_axis(actions, best[:, None, None], axis=1)[:, 0])


class Around(NamedTuple):
    """For each vertex the hyperedges that hold it, in lists padded to one length."""

    offsets: Int[Array, "vertices degree"]
    strides: Int[Array, "vertices degree all_vertices"]
    own: Int[Array, "vertices degree"]
    real: Array
    sizes: Int[Array, " vertices"]
    columns: Int[Array, " largest"]


def _around(hypergraph: Hypergraph) -> Around:
    holding = [
        [place for place, edge in enumerate(hypergraph.edges) if vertex in edge]
        for vertex in range(hypergraph.num_vertices)
    ]
    degree = max(map(len, holding))
    lists = np.array([edges + [0] * (degree - len(edges)) for edges in holding])
    real = np.array([np.arange(degree) < len(edges) for edges in holding])
    return Around(
        offsets=jnp.asarray(hypergraph.offsets[lists]),
        strides=jnp.asarray(hypergraph.strides.T[lists]),
        own=jnp.asarray(hypergraph.strides.T[lists, np.arange(len(holding))[:, None]]),
        real=jnp.asarray(real),
        sizes=jnp.asarray(hypergraph.sizes),
        columns=jnp.arange(max(hypergraph.sizes)),
    )


def finite(tables: Float[Array, "batch outputs"]) -> Float[Array, "batch outputs"]:
    """Forbidden entries made so costly that one of them outweighs everything allowed.

    Searches can then climb out of forbidden actions, which they could not among infinities.
    """
    largest = jnp.max(jnp.where(jnp.isfinite(tables), jnp.abs(tables), 0.0), axis=-1)
    cost = 2.0 * tables.shape[-1] * largest + 1.0
    return jnp.where(tables == -jnp.inf, -cost[:, None], tables)


@lru_cache(maxsize=64)
def fits_kernel(hypergraph: Hypergraph) -> bool:
    """Whether the kernel's search takes it: in half a gigabyte, orders of 16 at most."""
    n, size = hypergraph.num_vertices, max(hypergraph.sizes)
    if hypergraph.num_outputs > MOST_OUTPUTS or hypergraph.rank > 16 or n * size > 2**13:
        return False
    reach: dict[tuple[int, ...], tuple[int, int]] = {}
    for edge in hypergraph.edges:
        for place, vertex in enumerate(edge):
            known = edge[:place] + edge[place + 1 :]
            first, last = reach.get(known, (vertex, vertex))
            reach[known] = min(first, vertex), max(last, vertex)
    rows = (
        math.prod(hypergraph.table_shape(known)) * (last - first + 1)
        for known, (first, last) in reach.items()
    )
    return 2 * size * sum(rows) <= 2**26  # Rows that span more than half of the vertices span all.


def tabu_steps(hypergraph: Hypergraph) -> int:
    """Steps that reach the best known value of nearly all states of 17 vertices of 5."""
    return TABU_STEPS if hypergraph.rank <= 2 else MORE_STEPS


def ascent_cost(hypergraph: Hypergraph) -> float:
    """Every visit looks at every sub-action of a vertex in every hyperedge that holds it."""
    visits = RESTARTS * SWEEPS
    return visits * float(
        sum(len(edge) * max(hypergraph.table_shape(edge)) for edge in hypergraph.edges)
    )


def tabu_cost(hypergraph: Hypergraph) -> float:
    """Every step looks at all sub-actions of all vertices, and adds up what it changes twice.

    To compare vertices takes as long as so many adds. Before, each table is copied for each of its
    vertices.
    """
    n = hypergraph.num_vertices
    contexts = {
        edge[:place] + edge[place + 1 :] for edge in hypergraph.edges for place in range(len(edge))
    }
    changed = sum(map(len, contexts)) / n
    work = (1 + 2 * changed) * sum(hypergraph.sizes) + VERTEX_ADDS * n
    copied = sum(
        len(edge) * size
        for edge, size in zip(hypergraph.edges, hypergraph.table_sizes, strict=True)
    )
    return tabu_steps(hypergraph) * work + COPY_ADDS * float(copied)


def proof_cost(hypergraph: Hypergraph, nodes: int) -> float:
    """What branch and bound takes beside the search: its first tenth, the messages, and nodes."""
    steps = tabu_steps(hypergraph)
    share = 0.1 + nodes * STEPS_PER_NODE / steps
    return tabu_cost(hypergraph) * share + MESSAGE_ADDS * hypergraph.num_outputs
