"""The maximiser of the mixed value: shapes, masks, values and batches around a way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from hyperaction.constraints import Constraints, Mask
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay, Problem, solver
from hyperaction.maximise.cost import in_words
from hyperaction.maximise.extension import Extension, extension
from hyperaction.maximise.masks import as_mask
from hyperaction.mixers import AbstractMixer, Sum


class Bounded(NamedTuple):
    """A value, its action, and a value that no action exceeds."""

    value: Float[Array, "*batch"]
    action: Int[Array, "*batch vertices"]
    upper_bound: Float[Array, "*batch"]


class AbstractPlanner(ABC):
    """Chooses a way for a hypergraph under constraints; hashable."""

    @abstractmethod
    def plan(self, extended: Extension) -> tuple[AbstractWay, str]:
        """The way, and why."""

    @abstractmethod
    def plan_exact(self, extended: Extension) -> tuple[AbstractWay, str]:
        """The same for a sum, whatever was asked for."""


Own = TypeVar("Own", bound="HardMaximiser")


class HardMaximiser(eqx.Module):
    """Finds the joint action of the largest mixed value, for any batch of states.

    All methods take `outputs [..., num_outputs]`, inside or outside of
    compiled code, and

    - `mask`, true where allowed: per sub-action, `[..., sum(sizes)]`, or per hyperedge entry,
      `[..., num_outputs]` (where both are equally long, sub-actions are meant); a dictionary from
      vertices to arrays over their sub-actions, for all states; or a `Mask`;
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
    planner: AbstractPlanner = eqx.field(static=True)
    constraints: Constraints | None = eqx.field(static=True, default=None)
    """What holds in every state."""

    def under(self: Own, constraints: Constraints) -> Own:
        """The maximiser under these constraints, in the way that suits them."""
        extended = extension(self.hypergraph, constraints)
        if constraints == self.constraints or (
            extended.hypergraph == self.hypergraph and not constraints.always
        ):
            return self
        way, reason = self.planner.plan(extended)
        return type(self)(self.mixer, self.hypergraph, way, reason, self.planner, constraints)

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
    def seconds(self) -> float:
        """About how long one state of a batch of 64 takes, by a fixed model of one core."""
        return self.way.seconds(64) / 64

    @property
    def width(self) -> int | None:
        """The width of the order that vertices are eliminated in, if they are.

        The largest table is over this many vertices and one more. The treewidth is the smallest
        width of any order: 1 for trees, one less than the number of vertices for all pairs.
        """
        return self.way.width(extension(self.hypergraph, self.constraints).hypergraph)

    def explain(self) -> str:
        """Which way was chosen and why, in a sentence."""
        kind = "exact" if self.exact else "approximate"
        width = "" if self.width is None else f", width {self.width}"
        cost = f"about {in_words(self.seconds)} per state"
        return f"{self.name} ({kind}, {cost}{width}): {self.reason}"

    def max(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> Float[Array, "*batch"]:
        """The value of each state's best action."""
        return self.value_and_action(outputs, mask=mask, state=state, candidates=candidates)[0]

    def argmax(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> Int[Array, "*batch vertices"]:
        """Each state's best action."""
        return self.value_and_action(outputs, mask=mask, state=state, candidates=candidates)[1]

    def value_and_action(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
        """Each state's best action, and its value, differentiable in that action's outputs."""
        given = self.checked(outputs, mask, state, candidates)
        value, action, _ = self._found(*given, bounded=False)
        return value, action

    def bounded(
        self,
        outputs: Shaped[Any, "*batch outputs"],
        *,
        mask: Any = None,
        state: Shaped[Any, "..."] | None = None,
        candidates: Any = None,
    ) -> Bounded:
        """Each state's best action found, its value, and an upper bound of all actions' values."""
        given = self.checked(outputs, mask, state, candidates)
        value, action, bound = self._found(*given, bounded=True)
        assert bound is not None
        return Bounded(value, action, bound)

    def _found(
        self,
        outputs: Array,
        mask: Mask | None,
        state: Array | None,
        candidates: Array | None,
        *,
        bounded: bool,
    ) -> tuple[Array, Array, Array | None]:
        found = find(self, outputs, mask, state, candidates, bounded=bounded)
        if not isinstance(found[0], jax.core.Tracer):
            exact = self.exact if mask is None else self.under(mask.constraints).exact
            check_values(found[0], masked=mask is not None, exact=exact)
        return found

    def checked(
        self, outputs: Any, mask: Any, state: Any, candidates: Any = None
    ) -> tuple[Array, Mask | None, Array | None, Array | None]:
        """The arguments as arrays of the shapes that everything below relies on, or an error."""
        hypergraph = self.hypergraph
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
        mask = as_mask(hypergraph, mask, self.constraints)
        if mask is not None and mask.rows is not None:
            mask = Mask(_over("the mask", jnp.asarray(mask.rows), batch), mask.constraints)
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
    mask: Mask | None,
    state: Float[Array, "*batch features"] | None,
    candidates: Int[Array, "n vertices"] | None = None,
    *,
    bounded: bool = False,
) -> Problem:
    """The problem of all states in one batch."""
    count = math.prod(outputs.shape[:-1])

    def flat(array: Any) -> Any:
        return None if array is None else array.reshape(count, array.shape[-1])

    extended = extension(self.hypergraph, None if mask is None else mask.constraints)
    rows = None if mask is None else flat(mask.rows)
    entries = extended.entries(rows, (count,))
    outputs = flat(outputs)
    if not self.mixer.affine:  # Weighted sums see to it themselves.
        missing = extended.hypergraph.num_outputs - outputs.shape[1]
        finite = jnp.pad(outputs != -jnp.inf, ((0, 0), (0, missing)), constant_values=True)
        entries = finite if entries is None else entries & finite
    if candidates is not None:
        candidates = extended.complete(candidates)
    start = None
    if entries is not None and mask is not None and not self.way.exact:
        start = extended.complete(_allowed_actions(self.planner, mask.constraints, rows, count))
    return Problem(self.mixer, outputs, entries, flat(state), candidates, extended, bounded, start)


def _allowed_actions(
    planner: AbstractPlanner, constraints: Constraints, rows: Any, count: int
) -> Int[Array, "batch vertices"]:
    """An action per state that the constraints allow, by what is exact for them alone."""
    singles = Hypergraph.of_orders(constraints.sizes, [1])
    extended = extension(singles, constraints)
    nothing = jnp.zeros((count, singles.num_outputs))
    entries = extended.entries(rows, (count,))
    way, _ = planner.plan_exact(extended)
    problem = Problem(Sum(), nothing, entries, None, None, extended)
    return solver(way)(problem).actions[:, : singles.num_vertices]


@partial(jax.jit, static_argnames="bounded")
def find(
    self: HardMaximiser,
    outputs: Float[Array, "*batch outputs"],
    mask: Mask | None,
    state: Float[Array, "*batch features"] | None,
    candidates: Int[Array, "n vertices"] | None,
    *,
    bounded: bool,
) -> tuple[Array, Array, Array | None]:
    """Values, actions and, if asked for, upper bounds, from checked arguments."""
    if mask is not None:
        self = self.under(mask.constraints)
    problem = flat_problem(self, outputs, mask, state, candidates, bounded=bounded)
    batch = outputs.shape[:-1]
    actions, sums = solver(self.way)(jax.lax.stop_gradient(problem))
    actions = actions[:, : self.hypergraph.num_vertices]
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


def _loose_bounds(problem: Problem) -> Float[Array, " batch"]:
    """The mixed value of every table's largest entry, where the mixer is monotonic."""
    if not problem.mixer.monotonic:
        return jnp.full(problem.outputs.shape[0], jnp.inf)
    hypergraph = problem.extension.base
    largest = jax.ops.segment_max(
        problem.masked(problem.outputs).T,
        hypergraph.edge_of_output,
        hypergraph.num_edges,
        indices_are_sorted=True,
    )
    return jax.vmap(problem.mixer)(largest.T, problem.state)


def check_values(values: Float[Any, "*batch"], *, masked: bool, exact: bool) -> None:
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
