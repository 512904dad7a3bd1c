"""What a way of maximising is, and the problem that it is given."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.cost import Rate
from hyperaction.maximise.extension import Extension, extension
from hyperaction.mixers import AbstractMixer, Sum


class Problem(eqx.Module):
    """What is to be maximised: a batch of states' outputs under one mixer and constraints."""

    mixer: AbstractMixer
    outputs: Float[Array, "batch outputs"]
    mask: Bool[Array, "batch entries"] | None
    """What is allowed of every entry of the hypergraph's tables."""
    state: Float[Array, "batch features"] | None
    candidates: Int[Array, "n vertices"] | None
    extension: Extension = eqx.field(static=True)
    bounded: bool = eqx.field(static=True, default=False)
    """Whether an upper bound is asked for."""
    start: Int[Array, "batch vertices"] | None = None
    """An allowed action of each state, if one was looked for."""

    @property
    def hypergraph(self) -> Hypergraph:
        """The hyperedges that have values, followed by those of constraints."""
        return self.extension.hypergraph

    def tables(self) -> Float[Array, "batch entries"]:
        """Tables whose sum is to be maximised: weighted as an affine mixer does, and masked.

        Plus infinity is cut to what all hyperedges can add up to, for infinities of both signs
        would add up to NaN; minus infinity forbids.
        """
        base = self.extension.base
        weights = self.mixer.weights(base.num_edges)
        forbidden = self.masked(self.outputs) == -jnp.inf
        # Zeros there, so that gradients of the weights see no infinity or NaN.
        outputs = jnp.where(forbidden, 0.0, self.outputs)
        weighted = outputs * weights[base.edge_of_output]
        largest = self.largest_entry(weighted.dtype)
        tables = jnp.where(forbidden, -jnp.inf, jnp.clip(weighted, -largest, largest))
        if self.hypergraph.num_edges == base.num_edges:
            return tables
        further = (tables.shape[0], self.hypergraph.num_outputs - base.num_outputs)
        own = jnp.zeros(further, tables.dtype)
        if self.mask is not None:
            own = jnp.where(self.mask[:, base.num_outputs :], own, -jnp.inf)
        return jnp.concatenate([tables, own], axis=-1)

    def largest_entry(self, dtype: Any) -> float:
        """The number that plus infinity is cut to in tables."""
        most = float(jnp.finfo(dtype).max)  # type: ignore[no-untyped-call]
        return most / (4 * self.hypergraph.num_edges)

    def masked(self, outputs: Float[Array, "batch outputs"]) -> Float[Array, "batch outputs"]:
        """Minus infinity where the mask forbids."""
        if self.mask is None:
            return outputs
        return jnp.where(self.mask[:, : outputs.shape[-1]], outputs, -jnp.inf)

    def values(self, actions: Int[Array, "batch vertices"]) -> Float[Array, " batch"]:
        """The mixed value of one action per state; minus infinity where it is forbidden."""
        representations = self.extension.base.representation(self.outputs, actions)
        values = jax.vmap(self.mixer)(representations, self.state)
        if self.mask is None:
            return values
        return jnp.where(self.extension.allows(self.mask, actions), values, -jnp.inf)


def sum_of(
    tables: Float[Array, "batch outputs"],
    hypergraph: Hypergraph,
    candidates: Int[Array, "n vertices"] | None = None,
    *,
    bounded: bool = False,
) -> Problem:
    """The problem of tables that are weighted and masked already."""
    return Problem(Sum(), tables, None, None, candidates, extension(hypergraph), bounded)


class Solution(NamedTuple):
    """An action per state and, where the way knows one, an upper bound of the tables' sums."""

    actions: Int[Array, "batch vertices"]
    bounds: Float[Array, " batch"] | None = None


class AbstractWay(eqx.Module):
    """One way to find the best joint action.

    Hashable and free of arrays: what it decides, it decides before compiling.
    """

    name: eqx.AbstractClassVar[str]
    cost: float = eqx.field(static=True)
    """About how many adds it takes per state."""
    rate: ClassVar[Rate] = Rate(1.0)
    """How long an add takes."""
    proves: ClassVar[bool] = False
    """Whether it may prove an answer best without being exact."""

    def seconds(self, states: int) -> float:
        """About how long a batch of so many states takes, by a fixed model."""
        return self.rate.seconds(self.cost, states)

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether the action found is surely the best."""

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """The best joint action of each state."""

    def width(self, hypergraph: Hypergraph) -> int | None:
        """The most other vertices that any vertex is eliminated with, if any vertices are."""
        return None


class AbstractSoftWay(AbstractWay):
    """A way that also knows the Boltzmann distribution of joint actions, exp(Q / temperature).

    Temperatures, one per state, are at least 0; at 0 the best action has all probability.
    """

    def softens(self, mixer: AbstractMixer) -> bool:
        """Whether it can do so under a mixer."""
        return True

    @abstractmethod
    def soft(self, problem: Problem, temperature: Float[Array, " batch"]) -> Float[Array, " batch"]:
        """Temperature times the log of the sum of exp(value / temperature) over all actions.

        The constant of an affine mixer is left out. Differentiable in outputs and temperature.
        """

    @abstractmethod
    def marginals(
        self, problem: Problem, temperature: Float[Array, " batch"]
    ) -> tuple[Float[Array, " batch"], Float[Array, "batch outputs"]]:
        """The soft value, and the probability of every hyperedge's every entry."""

    @abstractmethod
    def sample(
        self, problem: Problem, temperature: Float[Array, " batch"], key: PRNGKeyArray
    ) -> Int[Array, "batch vertices"]:
        """A joint action drawn for each state."""


@lru_cache(maxsize=256)
def solver(way: AbstractWay) -> Callable[[Problem], Solution]:
    """Solves for a way; under `jax.vmap`, as one larger batch, so that memory limits still hold."""

    @jax.custom_batching.custom_vmap
    def solve(problem: Problem) -> Solution:
        return way.solve(problem)

    @solve.def_vmap
    def solve_batches(
        size: int, in_batched: list[Problem], problem: Problem
    ) -> tuple[Solution, Solution]:
        (batched,) = in_batched
        if any(jax.tree.leaves((batched.mixer, batched.candidates))):  # A mixer for each batch.
            axes = jax.tree.map(lambda mapped: 0 if mapped else None, batched)
            solution = jax.vmap(way.solve, in_axes=(axes,))(problem)
            return solution, jax.tree.map(lambda _: True, solution)

        def flat(array: Any, mapped: bool) -> Any:
            array = array if mapped else jnp.broadcast_to(array, (size, *array.shape))
            return array.reshape(size * array.shape[1], *array.shape[2:])

        def parts(problem: Any) -> Any:
            return problem.outputs, problem.mask, problem.state, problem.start

        flattened = jax.tree.map(flat, parts(problem), parts(batched))
        outputs = flattened[0]
        solution = solve(eqx.tree_at(parts, problem, flattened, is_leaf=lambda x: x is None))
        count = outputs.shape[0] // max(size, 1)
        solution = jax.tree.map(lambda a: a.reshape(size, count, *a.shape[1:]), solution)
        return solution, jax.tree.map(lambda _: True, solution)

    return solve
