"""Which way to maximise: decided once, from the structure alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from hyperaction import kernels
from hyperaction.constraints import Constraints
from hyperaction.errors import unknown
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import search
from hyperaction.maximise.base import AbstractWay
from hyperaction.maximise.black_box import ROUNDS, SAMPLES
from hyperaction.maximise.components import Components, parts_of
from hyperaction.maximise.cost import (
    ADDS_PER_OUTPUT,
    ASCENT_WORTH,
    PER_STATE,
    SAMPLING_WORTH,
    SECONDS,
    Budget,
)
from hyperaction.maximise.decentralised import Decentralised
from hyperaction.maximise.elimination import HARD_LIMIT, JaxElimination, plan_elimination
from hyperaction.maximise.enumeration import Enumeration, enumeration_cost
from hyperaction.maximise.extension import Extension, extension
from hyperaction.maximise.hard import AbstractPlanner
from hyperaction.maximise.sampling import Exchanging, Sampling, sampling_cost
from hyperaction.maximise.soft import Maximiser
from hyperaction.mixers import AbstractMixer, Sum

FEW_LISTED = 1e5
"""Adds per state up to which joint actions that constraints leave are rather listed."""

MIXER_ADDS = 4
"""What a mixer that is not a weighted sum takes for each hyperedge, in adds."""

EXCHANGE_STARTS = 64
"""Joint proposals that ascent starts from where vertices are counted."""


def maximiser(
    hypergraph: Hypergraph,
    mixer: AbstractMixer = Sum(),
    *,
    way: str | AbstractWay | None = None,
    budget: float | Budget = SECONDS,
    use_native: bool | None = None,
    nodes: int = search.NODES,
    constraints: Any = None,
) -> Maximiser:
    """What finds the best joint action of a hypergraph under a mixer.

    Args:
        hypergraph: The hyperedges.
        mixer: How their values make an action's value.
        way: One of `WAYS`, or a way of your own; by default the cheapest exact one within the
            budget, else the best approximate one.
        budget: What an exact way may take: seconds per state, in batches of many, by a fixed model
            of one core; or the `Budget` of other batches.
        use_native: Whether to use the compiled kernels; by default where they are faster.
        nodes: How many nodes branch and bound may open per state.
        constraints: What is allowed in every state, as `Constraints.of` takes it: cardinalities,
            and dictionaries from vertices to arrays over their sub-actions.
    """
    if not isinstance(mixer, AbstractMixer):
        raise TypeError(f"a mixer is an object such as Sum(), not {mixer!r}; see make_mixer")
    if isinstance(way, str) and way not in WAYS:
        raise ValueError(unknown("way", way, WAYS))
    if use_native and not kernels.available():
        raise ValueError("the compiled kernel was not built, or JAX does not compute on the CPU")
    if use_native is None:
        use_native = kernels.serves("eliminate") and kernels.serves("search")
    if not isinstance(budget, Budget):
        if not budget >= 0:
            raise ValueError(f"`budget` is {budget}; it must be at least 0 seconds")
        budget = Budget(float(budget), PER_STATE)
    planner = Planner(mixer.monotonic, mixer.affine, budget, use_native, nodes, way)
    if constraints is not None and not isinstance(constraints, Constraints):
        constraints = Constraints.of(hypergraph.sizes, constraints)
    chosen, reason = planner.plan(extension(hypergraph, constraints))
    return Maximiser(mixer, hypergraph, chosen, reason, planner, constraints)


@dataclass(frozen=True)
class Planner(AbstractPlanner):
    """Picks ways for one kind of mixer, within one budget. Equal questions are answered once."""

    monotonic: bool
    affine: bool
    budget: Budget
    use_native: bool
    nodes: int
    way: str | AbstractWay | None = None

    @lru_cache(maxsize=256)  # noqa: B019 (planners are small, and equal ones share)
    def plan(self, extended: Extension) -> tuple[AbstractWay, str]:
        """The way that was asked for, or the one that suits the hyperedges and constraints."""
        if isinstance(self.way, AbstractWay):
            return self.way, "it was given"
        if self.way is not None:
            return self.force(extended, self.way), "it was asked for"
        return self.choose(extended)

    def plan_exact(self, extended: Extension) -> tuple[AbstractWay, str]:
        """The same for a sum, whatever was asked for and however little it may take."""
        patient = self.budget if self.budget.calls == PER_STATE else Budget(SECONDS, PER_STATE)
        return self._of_sum(patient).plan(extended)

    def _of_sum(self, budget: Budget) -> Planner:
        return replace(self, monotonic=True, affine=True, way=None, budget=budget)

    def _within(self, approximate: AbstractWay, worth: float, outputs: int) -> Budget:
        """What an exact way may take, where this is the best approximate one."""
        least = worth * self.budget.seconds(approximate)
        of_outputs = self.budget.seconds_of(JaxElimination.rate, ADDS_PER_OUTPUT * outputs)
        return replace(self.budget, limit=max(self.budget.limit, least, of_outputs))

    def choose(self, extended: Extension) -> tuple[AbstractWay, str]:
        """The cheapest exact way within the budget, else the best approximate one; and why."""
        hypergraph = extended.hypergraph
        if hypergraph.rank == 1 and self.monotonic:
            return self.decentralised(extended), (
                "at rank 1 a monotonic mixer lets every vertex choose for itself"
            )
        listing = Enumeration(cost=self._mixed(enumeration_cost(extended)))
        if not self.affine:
            sampling = self.sampling(extended)
            if self._within(sampling, SAMPLING_WORTH, 0).allows(listing):
                return self.enumeration(extended), (
                    "the mixer is not a weighted sum, and the joint actions are few enough to list"
                )
            return sampling, (
                f"the mixer is not a weighted sum, and the {extended.base.num_actions:,} joint "
                f"actions are too many to list"
            )
        if extended.constraints.always and listing.cost <= FEW_LISTED:
            return self.enumeration(extended), "the constraints leave few joint actions"
        parts = parts_of(hypergraph)
        if len(parts) > 1:
            return self.components(extended), (
                f"the hyperedges fall into {len(parts)} parts that share no vertex"
            )
        ascent = self.ascent(extended)
        within = self._within(ascent, ASCENT_WORTH, extended.base.num_outputs)
        elimination = plan_elimination(hypergraph, within, use_native=self.use_native)
        if elimination is not None:
            return elimination, "vertices can be maximised out one by one within the budget"
        if extended.constraints.always and within.allows(listing):
            return self.enumeration(extended), (
                "the constraints leave joint actions that are few enough to list"
            )
        proof = "; it stops where a bound proves its answer" if ascent.proves else ""
        return ascent, (
            f"exact elimination would take more than the budget of {within}, or more memory than "
            f"there is{proof}"
        )

    def _mixed(self, adds: float) -> float:
        """What to mix takes, where a weighted sum takes so many adds."""
        return adds if self.affine else MIXER_ADDS * adds

    def force(self, extended: Extension, way: str) -> AbstractWay:
        """The way of that name, or an error that says why it cannot be taken."""
        affine_only = ("components", "elimination", "branch-and-bound", "ascent")
        if way in affine_only and not self.affine:
            raise ValueError(
                f"{way} needs a mixer that is a weighted sum (sum, mean, monotonic-linear); "
                f"enumeration and sampling take any"
            )
        return WAYS[way](self, extended)

    def decentralised(self, extended: Extension) -> AbstractWay:
        hypergraph = extended.hypergraph
        if extended.base.rank == 1 < hypergraph.rank:
            raise ValueError("decentralised cannot obey constraints that join vertices")
        if hypergraph.rank > 1 or not self.monotonic:
            raise ValueError(
                f"decentralised needs rank 1 (this is rank {hypergraph.rank}) and a monotonic "
                f"mixer (this is {'one' if self.monotonic else 'none'})"
            )
        return Decentralised(cost=float(hypergraph.num_outputs))

    def components(self, extended: Extension) -> AbstractWay:
        hypergraph = extended.hypergraph
        parts = [extension(part.of(hypergraph)) for part in parts_of(hypergraph)]
        ways = tuple(self._of_sum(self.budget).plan(part)[0] for part in parts)
        return Components(cost=sum(way.cost for way in ways), ways=ways)

    def elimination(self, extended: Extension) -> AbstractWay:
        any_time = replace(self.budget, limit=math.inf)
        way = plan_elimination(extended.hypergraph, any_time, use_native=self.use_native)
        if way is None:
            raise ValueError(
                f"elimination cannot fit: it would take more than {HARD_LIMIT:,.0f} adds or a "
                f"gigabyte per state; branch-and-bound and ascent can"
            )
        return way

    def branch_and_bound(self, extended: Extension) -> AbstractWay:
        hypergraph = extended.hypergraph
        if not (self.use_native and search.fits_kernel(hypergraph)):
            raise ValueError(
                f"branch-and-bound needs the compiled kernel, {search.MOST_OUTPUTS:,} outputs at "
                f"most (here {hypergraph.num_outputs:,}) and few sub-actions; ascent needs none "
                f"of these"
            )
        cost = search.tabu_cost(hypergraph) + search.proof_cost(hypergraph, self.nodes)
        steps = search.tabu_steps(hypergraph)
        return search.BranchAndBound(cost=cost, steps=steps, nodes=self.nodes)

    def ascent(self, extended: Extension) -> AbstractWay:
        hypergraph = extended.hypergraph
        if extended.num_counters:
            rounds = 2 * extended.base.num_vertices
            cost = sampling_cost(extended, EXCHANGE_STARTS, rounds)
            return Exchanging(cost=cost, samples=EXCHANGE_STARTS, rounds=rounds)
        if self.use_native and search.fits_kernel(hypergraph):
            cost, steps = search.tabu_cost(hypergraph), search.tabu_steps(hypergraph)
            return search.Tabu(cost=cost, steps=steps)
        cost = search.ascent_cost(hypergraph)
        return search.Ascent(cost=cost, restarts=search.RESTARTS, sweeps=search.SWEEPS)

    def sampling(self, extended: Extension) -> AbstractWay:
        cost = self._mixed(sampling_cost(extended, SAMPLES, ROUNDS))
        return Sampling(cost=cost, samples=SAMPLES, rounds=ROUNDS)

    def enumeration(self, extended: Extension) -> AbstractWay:
        cost = self._mixed(enumeration_cost(extended))
        listed = extended.constraints.always
        if cost > HARD_LIMIT or (extended.base.num_actions >= 2**31 and not listed):
            raise ValueError(
                f"enumeration cannot fit: there are {extended.base.num_actions:,} joint actions; "
                f"sampling can"
            )
        return Enumeration(cost=cost)


WAYS: dict[str, Callable[[Planner, Extension], AbstractWay]] = {
    "decentralised": Planner.decentralised,
    "components": Planner.components,
    "elimination": Planner.elimination,
    "branch-and-bound": Planner.branch_and_bound,
    "ascent": Planner.ascent,
    "sampling": Planner.sampling,
    "enumeration": Planner.enumeration,
}
"""The ways that have a name: what makes each for hyperedges and constraints, or refuses."""
