"""Exact variable elimination, for mixers that are weighted sums: the best action, or all of them.

Vertices leave one after the other. What they leave behind is the best that the tables which hold
them can add up to, or, for soft values, the log-sum-exp over their sub-actions.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from hyperaction import kernels
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import soft_kernel
from hyperaction.maximise.base import AbstractSoftWay, Problem, Solution
from hyperaction.maximise.cost import Budget, Rate
from hyperaction.maximise.log_sum import log_sum, value_and_slope
from hyperaction.maximise.orders import elimination_order, least_work, message_sizes, width_of
from hyperaction.maximise.program import Step, best_steps, encoded, order_of

ENTRIES_AT_ONCE = {"cpu": 2**22}
"""The most entries of one table over all states that are in flight at once in JAX: on the CPU, more
leave its caches."""

MOST_AT_ONCE = 2**26
"""The same on other devices, which have the memory and many threads."""

REUSED_ENTRIES = 2**16
"""Entries that a call of the kernel finds in memory that the process has already."""

SECONDS_PER_NEW_ENTRY = 3.7e-8
"""What one more takes, once for each call: pages that the system hands out."""

SECONDS_PER_OUTPUT = 2e-9
"""What it takes to bring an output of a state into its lane."""

HARD_LIMIT = 1e10
"""Adds per state that elimination may not take even if it is asked for by name."""

LARGEST_MESSAGE = 2**28
"""The most entries that a table may have in JAX: a gigabyte for one state."""


class Elimination(AbstractSoftWay):
    """Vertices are eliminated one after the other, by the compiled kernels."""

    name: ClassVar[str] = "elimination"
    rate: ClassVar[Rate] = Rate(0.06, lanes=16)
    steps: tuple[Step, ...] = eqx.field(static=True)
    arena: int = eqx.field(static=True, default=0)
    """Entries of all tables together."""
    outputs: int = eqx.field(static=True, default=0)

    def seconds(self, states: int) -> float:
        pages = self.arena * SECONDS_PER_NEW_ENTRY if self.arena > REUSED_ENTRIES else 0.0
        loading = self.outputs * SECONDS_PER_OUTPUT * states
        return pages + loading + super().seconds(states)

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        tables = problem.tables()
        if tables.dtype == jnp.float64:  # The kernel has single precision only.
            return self._twin(problem).solve(problem)
        return Solution(kernels.eliminate(tables, encoded(problem.hypergraph, self.steps)))

    def width(self, hypergraph: Hypergraph) -> int:
        return width_of(hypergraph, order_of(self.steps))

    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        tables = problem.tables()
        if not _serves("soft_value", tables):
            return self._twin(problem).soft(problem, temperature)
        return soft_kernel.soft_value(problem.hypergraph, self.steps, tables, temperature)

    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        tables = problem.tables()
        if not _serves("soft_marginals", tables):
            return self._twin(problem).marginals(problem, temperature)
        found = soft_kernel.soft_marginals(problem.hypergraph, self.steps, tables, temperature)
        return found[0], found[2]

    def sample(
        self, problem: Problem, temperature: Float[Array, " batch"], key: PRNGKeyArray
    ) -> Int[Array, "batch vertices"]:
        tables = problem.tables()
        if not _serves("soft_sample", tables):
            return self._twin(problem).sample(problem, temperature, key)
        return soft_kernel.soft_sample(problem.hypergraph, self.steps, tables, temperature, key)

    def _twin(self, problem: Problem) -> JaxElimination:
        return JaxElimination(cost=self.cost, order=elimination_order(problem.hypergraph))


def _serves(kernel: str, tables: Float[Array, "batch outputs"]) -> bool:
    """Whether a kernel is to be used; all have single precision only."""
    return kernels.serves(kernel) and tables.dtype == jnp.float32


class JaxElimination(AbstractSoftWay):
    """Vertices are eliminated one after the other, in JAX on any device."""

    name: ClassVar[str] = "elimination"
    rate: ClassVar[Rate] = Rate(3.0)
    order: tuple[int, ...] = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return True

    def solve(self, problem: Problem) -> Solution:
        def best(tables: Float[Array, "batch outputs"]) -> Int[Array, "batch vertices"]:
            messages = self._messages(problem.hypergraph, tables, lambda x, axis: x.max(axis=axis))
            pick: Pick = lambda _, worth: jnp.argmax(worth, axis=0)  # noqa: E731
            return _trace_back(problem.hypergraph, self.order, messages, pick)

        return Solution(self._in_batches(problem, best, problem.tables()))

    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        return self._soft(problem, problem.tables(), temperature)

    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        return value_and_slope(
            lambda tables: self._soft(problem, tables, temperature), problem.tables()
        )

    def sample(
        self, problem: Problem, temperature: Float[Array, " batch"], key: PRNGKeyArray
    ) -> Int[Array, "batch vertices"]:
        hypergraph, tables = problem.hypergraph, problem.tables()

        def draw(
            tables: Float[Array, "batch outputs"],
            temperature: Float[Array, " batch"],
            keys: Key[Array, " batch"],
        ) -> Int[Array, "batch vertices"]:
            reduce: Reduce = lambda x, axis: log_sum(x, temperature, axis)  # noqa: E731
            messages = self._messages(hypergraph, tables, reduce)

            def pick(vertex: int, worth: Float[Array, "sub_actions batch"]) -> Int[Array, " batch"]:
                noise = jax.vmap(
                    lambda key: jax.random.gumbel(
                        jax.random.fold_in(key, vertex), worth.shape[:1], worth.dtype
                    )
                )(keys)
                return jnp.argmax(worth + temperature * noise.T, axis=0)

            return _trace_back(hypergraph, self.order, messages, pick)

        keys = jax.random.split(key, tables.shape[0])
        return self._in_batches(problem, draw, tables, temperature, keys)

    def _soft(
        self,
        problem: Problem,
        tables: Float[Array, "batch outputs"],
        temperature: Float[Array, " batch"],
    ) -> Float[Array, " batch"]:
        def value(
            tables: Float[Array, "batch outputs"], temperature: Float[Array, " batch"]
        ) -> Float[Array, " batch"]:
            reduce: Reduce = lambda x, axis: log_sum(x, temperature, axis)  # noqa: E731
            return self._messages(problem.hypergraph, tables, reduce).total

        return self._in_batches(problem, value, tables, temperature)

    def _messages(
        self, hypergraph: Hypergraph, tables: Float[Array, "batch outputs"], reduce: Reduce
    ) -> Messages:
        return _messages(hypergraph, self.order, tables, reduce)

    def _in_batches(self, problem: Problem, work: Callable[..., Array], *args: Array) -> Array:
        """Works on all states at once where memory allows, else on some after the other."""
        largest = max(message_sizes(problem.hypergraph, self.order))
        entries = ENTRIES_AT_ONCE.get(jax.default_backend(), MOST_AT_ONCE)
        at_once = max(1, entries // largest)
        if 0 < args[0].shape[0] <= at_once:
            return work(*args)

        def one(row: tuple[Array, ...]) -> Array:
            return work(*(each[None] for each in row))[0]

        return jax.lax.map(one, args, batch_size=at_once)

    def width(self, hypergraph: Hypergraph) -> int:
        return width_of(hypergraph, self.order)


def plan_elimination(
    hypergraph: Hypergraph, budget: Budget, *, use_native: bool
) -> Elimination | JaxElimination | None:
    """The cheapest elimination found, by the kernel where it can; or None past the budget."""
    ways = _eliminations(hypergraph, budget, use_native)
    return next((way for way in ways if budget.allows(way)), None)


def _eliminations(
    hypergraph: Hypergraph, budget: Budget, use_native: bool
) -> Iterator[Elimination | JaxElimination]:
    # Looking for orders takes long where there are many.
    least = least_work(hypergraph)
    most = min(HARD_LIMIT, budget.adds(Elimination.rate))
    if use_native and least <= most:
        found = best_steps(hypergraph, most)
        if found is not None:
            yield Elimination(
                cost=found.cost,
                steps=found.steps,
                arena=found.arena,
                outputs=hypergraph.num_outputs,
            )
    if least <= min(HARD_LIMIT, budget.adds(JaxElimination.rate)):
        order = elimination_order(hypergraph)
        sizes = message_sizes(hypergraph, order)
        if max(sizes) <= LARGEST_MESSAGE and sum(sizes) <= HARD_LIMIT:
            yield JaxElimination(cost=float(sum(sizes)), order=order)


Factor = tuple[tuple[int, ...], Float[Array, "..."]]
"""A table with the states last, and the vertices of its other axes in increasing order."""

Reduce = Callable[[Float[Array, "..."], int], Float[Array, "..."]]
"""Takes an axis out of a table."""

Pick = Callable[[int, Float[Array, "sub_actions batch"]], Int[Array, " batch"]]
"""A vertex's sub-action in every state, from what its sub-actions are worth."""


class Messages(NamedTuple):
    """The tables that each vertex was eliminated from, and what was left in the end."""

    buckets: list[list[Factor]]
    total: Float[Array, " batch"]


def _messages(
    hypergraph: Hypergraph,
    order: tuple[int, ...],
    tables: Float[Array, "batch outputs"],
    reduce: Reduce,
) -> Messages:
    batch = tables.shape[0]
    # States last: neighbouring numbers are then neighbouring states, which vectorise.
    columns = tables.T
    factors: list[Factor] = [
        (edge, columns[part].reshape(*hypergraph.table_shape(edge), batch))
        for edge, part in zip(hypergraph.edges, hypergraph.slices, strict=True)
    ]
    buckets: list[list[Factor]] = []
    for vertex in order:
        bucket = [factor for factor in factors if vertex in factor[0]]
        factors = [factor for factor in factors if vertex not in factor[0]]
        scope, total = _sum(hypergraph, bucket)
        axis = scope.index(vertex)
        factors.append((scope[:axis] + scope[axis + 1 :], reduce(total, axis)))
        buckets.append(bucket)
    return Messages(buckets, _sum(hypergraph, factors)[1])


def _trace_back(
    hypergraph: Hypergraph, order: tuple[int, ...], messages: Messages, pick: Pick
) -> Int[Array, "batch vertices"]:
    """An action per state, the last vertex to be eliminated picked first."""
    actions: dict[int, Int[Array, " batch"]] = {}
    for vertex, bucket in zip(reversed(order), reversed(messages.buckets), strict=True):
        given = [_given(hypergraph, factor, vertex, actions) for factor in bucket]
        actions[vertex] = pick(vertex, functools.reduce(operator.add, given))
    chosen = [actions[vertex] for vertex in range(hypergraph.num_vertices)]
    return jnp.stack(chosen, axis=-1).astype(jnp.int32)


def _sum(hypergraph: Hypergraph, bucket: list[Factor]) -> Factor:
    """The sum of tables, small scopes merged first, so that few adds touch the largest table."""
    bucket = list(bucket)
    while len(bucket) > 1:
        bucket.sort(key=lambda factor: math.prod(hypergraph.table_shape(factor[0])))
        (one, a), (other, b) = bucket[:2]
        scope = tuple(sorted({*one, *other}))
        bucket[:2] = [
            (scope, _spread(hypergraph, one, a, scope) + _spread(hypergraph, other, b, scope))
        ]
    return bucket[0]


def _spread(
    hypergraph: Hypergraph, scope: tuple[int, ...], table: Float[Array, "..."], to: tuple[int, ...]
) -> Float[Array, "..."]:
    """The table with axes of length one for the vertices that it does not hold."""
    shape = [hypergraph.sizes[vertex] if vertex in scope else 1 for vertex in to]
    return table.reshape(*shape, table.shape[-1])


def _given(
    hypergraph: Hypergraph, factor: Factor, vertex: int, actions: dict[int, Int[Array, " batch"]]
) -> Float[Array, "sub_actions batch"]:
    """A table at the chosen sub-actions, for every sub-action of one vertex."""
    scope, table = factor
    table = jnp.moveaxis(table, scope.index(vertex), -2)
    index = jnp.zeros(table.shape[-1], jnp.int32)
    for other in scope:
        if other != vertex:
            index = index * hypergraph.sizes[other] + actions[other]
    flat = table.reshape(-1, *table.shape[-2:])
    return jnp.take_along_axis(flat, index[None, None, :], axis=0)[0]
