"""What a way of maximising is, and the maximiser around it: shapes, masks, values and batches."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.masks import allowed, per_output
from hyperaction.mixers import AbstractMixer


class Problem(eqx.Module):
    """What is to be maximised: a batch of states' outputs under one mixer."""

    mixer: AbstractMixer
    outputs: Float[Array, "batch outputs"]
    mask: Bool[Array, "batch outputs"] | None
    state: Float[Array, "batch features"] | None
    candidates: Int[Array, "n vertices"] | None
    hypergraph: Hypergraph = eqx.field(static=True)
    bounded: bool = eqx.field(static=True, default=False)
    """Whether an upper bound is asked for."""

    def tables(self) -> Float[Array, "batch outputs"]:
        """Tables whose sum is to be maximised: weighted as an affine mixer does, and masked.

        Plus infinity is cut to what all hyperedges can add up to, for infinities of both signs
        would add up to NaN; minus infinity forbids.
        """
        weights = self.mixer.weights(self.hypergraph.num_edges)
        forbidden = self.masked(self.outputs) == -jnp.inf
        # Zeros there, so that gradients of the weights see no infinity or NaN.
        outputs = jnp.where(forbidden, 0.0, self.outputs)
        weighted = outputs * weights[self.hypergraph.edge_of_output]
        largest = self.largest_entry(weighted.dtype)
        return jnp.where(forbidden, -jnp.inf, jnp.clip(weighted, -largest, largest))

    def largest_entry(self, dtype: Any) -> float:
        """The number that plus infinity is cut to in tables."""
        most = float(jnp.finfo(dtype).max)  # type: ignore[no-untyped-call]
        return most / (4 * self.hypergraph.num_edges)

    def masked(self, outputs: Float[Array, "batch outputs"]) -> Float[Array, "batch outputs"]:
        """Minus infinity where the mask forbids."""
        return outputs if self.mask is None else jnp.where(self.mask, outputs, -jnp.inf)

    def values(self, actions: Int[Array, "batch vertices"]) -> Float[Array, " batch"]:
        """The mixed value of one action per state; minus infinity where it is forbidden."""
        representations = self.hypergraph.representation(self.outputs, actions)
        values = jax.vmap(self.mixer)(representations, self.state)
        if self.mask is None:
            return values
        return jnp.where(allowed(self.hypergraph, self.mask, actions), values, -jnp.inf)


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


class Bounded(NamedTuple):
    """A value, its action, and a value that no action exceeds."""

    value: Float[Array, "*batch"]
    action: Int[Array, "*batch vertices"]
    upper_bound: Float[Array, "*batch"]


class HardMaximiser(eqx.Module):
    """Finds the joint action of the largest mixed value, for any batch of states.

    All methods take `outputs [..., num_outputs]`, inside or outside of
    compiled code, and

    - `mask`, true where allowed: per hyperedge entry, `[..., num_outputs]`, or per sub-action,
      `[..., sum(sizes)]` (where both are equally long, entries are meant);
    - `state [..., features]`, for mixers whose weights come from the state;
    - `candidates [n, num_vertices]`, actions that sampling looks at beside its own, and whose best
      is where ascent and branch and bound start.

    Outputs that hold NaN, and masks that leave no action, raise a ValueError outside of compiled
    code. Inside it their value is NaN or minus infinity, and their action is -1 throughout. An
    output of minus infinity is forbidden as by a mask.

    To compile a method of a maximiser whose mixer has parameters, compile a function that calls it,
    `jax.jit(lambda outputs: best.max(outputs))`: JAX cannot hash a method that holds arrays.
    """

    mixer: AbstractMixer
    hypergraph: Hypergraph = eqx.field(static=True)
    way: AbstractWay = eqx.field(static=True)
    reason: str = eqx.field(static=True)

    @property
    def name(self) -> str:
        """The way that was chosen."""
        return self.way.name

    @property
    def exact(self) -> bool:
        """Whether the actions found are surely the best."""
        return self.way.exact

    @property
    def cost(self) -> float:
        """About how many adds one state takes."""
        return self.way.cost

    @property
    def width(self) -> int | None:
        """The width of the order that vertices are eliminated in, if they are.

        The largest table is over this many vertices and one more. The treewidth is the smallest
        width of any order: 1 for trees, one less than the number of vertices for all pairs.
        """
        return self.way.width(self.hypergraph)

    def explain(self) -> str:
        """Which way was chosen and why, in a sentence."""
        kind = "exact" if self.exact else "approximate"
        width = "" if self.width is None else f", width {self.width}"
        cost = f"about {self.cost:,.0f} adds per state"
        return f"{self.name} ({kind}, {cost}{width}): {self.reason}"

    def max(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Shaped[Any, "..."] | None = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> Float[Array, "*batch"]:
        """The value of each state's best action."""
        return self.value_and_action(outputs, mask=mask, state=state, candidates=candidates)[0]

    def argmax(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Shaped[Any, "..."] | None = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> Int[Array, "*batch vertices"]:
        """Each state's best action."""
        return self.value_and_action(outputs, mask=mask, state=state, candidates=candidates)[1]

    def value_and_action(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Shaped[Any, "..."] | None = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
        """Each state's best action, and its value, differentiable in that action's outputs."""
        given = checked(self.hypergraph, outputs, mask, state, candidates)
        value, action, _ = self._found(*given, bounded=False)
        return value, action

    def bounded(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Shaped[Any, "..."] | None = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> Bounded:
        """Each state's best action found, its value, and an upper bound of all actions' values."""
        given = checked(self.hypergraph, outputs, mask, state, candidates)
        value, action, bound = self._found(*given, bounded=True)
        assert bound is not None
        return Bounded(value, action, bound)

    def _found(
        self,
        outputs: Array,
        mask: Array | None,
        state: Array | None,
        candidates: Array | None,
        *,
        bounded: bool,
    ) -> tuple[Array, Array, Array | None]:
        found = find(self, outputs, mask, state, candidates, bounded=bounded)
        if not isinstance(found[0], jax.core.Tracer):
            check_values(found[0], masked=mask is not None, exact=self.exact)
        return found


def checked(
    hypergraph: Hypergraph, outputs: Any, mask: Any, state: Any, candidates: Any
) -> tuple[Array, Array | None, Array | None, Array | None]:
    """The arguments as arrays of the shapes that everything below relies on, or an error."""
    outputs = jnp.asarray(outputs)
    if jnp.issubdtype(outputs.dtype, jnp.integer):
        outputs = outputs.astype(jnp.float32)
    if not jnp.issubdtype(outputs.dtype, jnp.floating):
        raise ValueError(f"outputs are real numbers, not {outputs.dtype}")
    expected = hypergraph.num_outputs
    if outputs.ndim == 0 or outputs.shape[-1] != expected:
        raise ValueError(
            f"outputs have shape {outputs.shape}; their last axis must be {expected} long, "
            f"one per output of the hypergraph"
        )
    batch = outputs.shape[:-1]
    if mask is not None:
        mask = _over("the mask", per_output(hypergraph, jnp.asarray(mask)), batch)
    if state is not None:
        state = _over("the state", jnp.asarray(state), batch)
    if candidates is not None:
        if not isinstance(candidates, jax.core.Tracer):
            hypergraph.indices(np.asarray(candidates))  # Raises for what is not an action.
        candidates = jnp.asarray(candidates).reshape(-1, hypergraph.num_vertices)
        candidates = candidates.astype(jnp.int32)
    return outputs, mask, state, candidates


def _over(name: str, array: Array, batch: tuple[int, ...]) -> Array:
    """The array with the outputs' leading axes."""
    try:
        fits = array.ndim > 0 and np.broadcast_shapes(array.shape[:-1], batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}, but the outputs have {batch} states")
    return jnp.broadcast_to(array, (*batch, array.shape[-1]))


def flat_problem(
    self: HardMaximiser,
    outputs: Float[Array, "*batch outputs"],
    mask: Bool[Array, "*batch outputs"] | None,
    state: Float[Array, "*batch features"] | None,
    candidates: Int[Array, "n vertices"] | None = None,
    *,
    bounded: bool = False,
) -> Problem:
    """The problem of all states in one batch."""
    count = math.prod(outputs.shape[:-1])

    def flat(array: Any) -> Any:
        return None if array is None else array.reshape(count, array.shape[-1])

    if not self.mixer.affine:  # Weighted sums see to it themselves.
        finite = outputs != -jnp.inf
        mask = finite if mask is None else mask & finite
    return Problem(
        self.mixer, flat(outputs), flat(mask), flat(state), candidates, self.hypergraph, bounded
    )


@partial(jax.jit, static_argnames="bounded")
def find(
    self: HardMaximiser,
    outputs: Float[Array, "*batch outputs"],
    mask: Bool[Array, "*batch outputs"] | None,
    state: Float[Array, "*batch features"] | None,
    candidates: Int[Array, "n vertices"] | None,
    *,
    bounded: bool,
) -> tuple[Array, Array, Array | None]:
    """Values, actions and, if asked for, upper bounds, from checked arguments."""
    problem = flat_problem(self, outputs, mask, state, candidates, bounded=bounded)
    batch = outputs.shape[:-1]
    actions, sums = solver(self.way)(jax.lax.stop_gradient(problem))
    values = problem.values(actions)
    # A maximum is NaN where any number is. What is forbidden does not count, not even as NaN.
    values = jnp.where(jnp.isnan(problem.masked(problem.outputs).max(axis=-1)), jnp.nan, values)
    usable = ~jnp.isnan(values) & (values > -jnp.inf)
    actions = jnp.where(usable[:, None], actions, -1)
    actions = actions.reshape((*batch, self.hypergraph.num_vertices))
    if not bounded:
        return values.reshape(batch), actions, None
    bounds = values
    if not self.exact:
        # An affine mixer is the sum of its weighted tables and its value at zero.
        nothing = jnp.zeros(self.hypergraph.num_edges)
        bounds = _loose_bounds(problem) if sums is None else sums + self.mixer(nothing)
        bounds = jnp.where(jnp.isnan(values), jnp.nan, jnp.maximum(bounds, values))
    return values.reshape(batch), actions, bounds.reshape(batch)


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

        parts = (problem.outputs, problem.mask, problem.state)
        maps = (batched.outputs, batched.mask, batched.state)
        outputs, mask, state = jax.tree.map(flat, parts, maps)
        candidates, hypergraph = problem.candidates, problem.hypergraph
        solution = solve(
            Problem(problem.mixer, outputs, mask, state, candidates, hypergraph, problem.bounded)
        )
        count = outputs.shape[0] // max(size, 1)
        solution = jax.tree.map(lambda a: a.reshape(size, count, *a.shape[1:]), solution)
        return solution, jax.tree.map(lambda _: True, solution)

    return solve


def _loose_bounds(problem: Problem) -> Float[Array, " batch"]:
    """The mixed value of every table's largest entry, where the mixer is monotonic."""
    if not problem.mixer.monotonic:
        return jnp.full(problem.outputs.shape[0], jnp.inf)
    hypergraph = problem.hypergraph
    largest = jax.ops.segment_max(
        problem.masked(problem.outputs).T,
        hypergraph.edge_of_output,
        hypergraph.num_edges,
        indices_are_sorted=True,
    )
    return jax.vmap(problem.mixer)(largest.T, problem.state)


def check_values(values: Float[Array, "*batch"], *, masked: bool, exact: bool) -> None:
    """Raises for the first state that has no answer."""
    none = "the mask{} leaves no action" if exact else "no allowed action{} was found"
    checked = np.asarray(values)
    for wrong, what in (
        (np.isnan(checked), "the outputs{} hold NaN"),
        (checked == -np.inf, none if masked else "no action{} has a finite value"),
    ):
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            index = place[0] if len(place) == 1 else place
            raise ValueError(what.format(f" of state {index}" if place else ""))
