"""Which way to maximise: decided once, from the structure alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from hyperaction import kernels
from hyperaction.errors import unknown
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import search
from hyperaction.maximise.base import AbstractWay
from hyperaction.maximise.black_box import ROUNDS, SAMPLES
from hyperaction.maximise.components import Components, parts_of
from hyperaction.maximise.decentralised import Decentralised
from hyperaction.maximise.elimination import plan_elimination
from hyperaction.maximise.enumeration import Enumeration, enumeration_cost
from hyperaction.maximise.sampling import Sampling
from hyperaction.maximise.soft import Maximiser
from hyperaction.mixers import AbstractMixer, Sum

BUDGET = 3e7
"""Adds per state that an exact way may take by default: milliseconds."""

HARD_LIMIT = 1e10
"""Adds per state that no way may take even if it is asked for by name: seconds."""


def maximiser(
    hypergraph: Hypergraph,
    mixer: AbstractMixer = Sum(),
    *,
    way: str | AbstractWay | None = None,
    budget: float = BUDGET,
    use_native: bool | None = None,
    nodes: int = search.NODES,
) -> Maximiser:
    """What finds the best joint action of a hypergraph under a mixer.

    Args:
        hypergraph: The hyperedges.
        mixer: How their values make an action's value.
        way: One of `WAYS`, or a way of your own; by default the cheapest exact one within the
            budget, else the best approximate one.
        budget: Adds per state that an exact way may take.
        use_native: Whether to use the compiled kernels; by default where they are faster.
        nodes: How many nodes branch and bound may open per state.
    """
    if not isinstance(mixer, AbstractMixer):
        raise TypeError(f"a mixer is an object such as Sum(), not {mixer!r}; see make_mixer")
    if isinstance(way, AbstractWay):
        return Maximiser(mixer=mixer, hypergraph=hypergraph, way=way, reason="it was given")
    if way is not None and way not in WAYS:
        raise ValueError(unknown("way", way, WAYS))
    if use_native and not kernels.available():
        raise ValueError("the compiled kernel was not built, or JAX does not compute on the CPU")
    if use_native is None:
        use_native = kernels.serves("eliminate") and kernels.serves("search")
    planner = _Planner(mixer.monotonic, mixer.affine, budget, use_native, nodes)
    chosen, reason = planner.choose(hypergraph) if way is None else planner.force(hypergraph, way)
    return Maximiser(mixer=mixer, hypergraph=hypergraph, way=chosen, reason=reason)


class _Planner:
    """Picks ways for one kind of mixer, within one budget. Equal questions are answered once."""

    def __init__(
        self, monotonic: bool, affine: bool, budget: float, use_native: bool, nodes: int
    ) -> None:
        self.facts = (monotonic, affine, budget, use_native, nodes)
        self.monotonic, self.affine, self.budget, self.use_native, self.nodes = self.facts

    def __hash__(self) -> int:
        return hash(self.facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Planner) and self.facts == other.facts

    @lru_cache(maxsize=256)  # noqa: B019 (planners are small, and equal ones share)
    def choose(self, hypergraph: Hypergraph) -> tuple[AbstractWay, str]:
        """The cheapest exact way within the budget, else the best approximate one; and why."""
        if hypergraph.rank == 1 and self.monotonic:
            return self.decentralised(hypergraph), (
                "at rank 1 a monotonic mixer lets every vertex choose for itself"
            )
        if not self.affine:
            if enumeration_cost(hypergraph) <= self.budget:
                return self.enumeration(hypergraph), (
                    "the mixer is not a weighted sum, and the joint actions are few enough to list"
                )
            return self.sampling(hypergraph), (
                f"the mixer is not a weighted sum, and the {hypergraph.num_actions:,} joint "
                f"actions are too many to list"
            )
        parts = parts_of(hypergraph)
        if len(parts) > 1:
            return self.components(hypergraph), (
                f"the hyperedges fall into {len(parts)} parts that share no vertex"
            )
        elimination = plan_elimination(hypergraph, self.budget, use_native=self.use_native)
        if elimination is not None:
            return elimination, "vertices can be maximised out one by one within the budget"
        return self.ascent(hypergraph), (
            f"exact elimination would take more than the budget of {self.budget:,.0f} adds, "
            f"or more memory than there is"
        )

    @lru_cache(maxsize=256)  # noqa: B019
    def force(self, hypergraph: Hypergraph, way: str) -> tuple[AbstractWay, str]:
        """The way of that name, or an error that says why it cannot be taken."""
        affine_only = ("components", "elimination", "branch-and-bound", "ascent")
        if way in affine_only and not self.affine:
            raise ValueError(
                f"{way} needs a mixer that is a weighted sum (sum, mean, monotonic-linear); "
                f"enumeration and sampling take any"
            )
        return WAYS[way](self, hypergraph), "it was asked for"

    def decentralised(self, hypergraph: Hypergraph) -> AbstractWay:
        if hypergraph.rank > 1 or not self.monotonic:
            raise ValueError(
                f"decentralised needs rank 1 (this is rank {hypergraph.rank}) and a monotonic "
                f"mixer (this is {'one' if self.monotonic else 'none'})"
            )
        return Decentralised(cost=float(hypergraph.num_outputs))

    def components(self, hypergraph: Hypergraph) -> AbstractWay:
        parts = [part.of(hypergraph) for part in parts_of(hypergraph)]
        alone = _Planner(True, True, self.budget, self.use_native, self.nodes)
        ways = tuple(alone.choose(part)[0] for part in parts)
        return Components(cost=sum(way.cost for way in ways), ways=ways)

    def elimination(self, hypergraph: Hypergraph) -> AbstractWay:
        way = plan_elimination(hypergraph, HARD_LIMIT, use_native=self.use_native)
        if way is None:
            raise ValueError(
                f"elimination cannot fit: it would take more than {HARD_LIMIT:,.0f} adds or a "
                f"gigabyte per state; branch-and-bound and ascent can"
            )
        return way

    def branch_and_bound(self, hypergraph: Hypergraph) -> AbstractWay:
        if not (self.use_native and search.fits_kernel(hypergraph)):
            raise ValueError(
                f"branch-and-bound needs the compiled kernel, {search.MOST_OUTPUTS:,} outputs at "
                f"most (here {hypergraph.num_outputs:,}) and few sub-actions; ascent needs none "
                f"of these"
            )
        steps = search.tabu_steps(hypergraph)
        work = search.tabu_cost(hypergraph) * (1 + self.nodes * max(hypergraph.sizes) / steps)
        return search.BranchAndBound(cost=work, steps=steps, nodes=self.nodes)

    def ascent(self, hypergraph: Hypergraph) -> AbstractWay:
        if self.use_native and search.fits_kernel(hypergraph):
            cost, steps = search.tabu_cost(hypergraph), search.tabu_steps(hypergraph)
            return search.Tabu(cost=cost, steps=steps)
        cost = search.ascent_cost(hypergraph)
        return search.Ascent(cost=cost, restarts=search.RESTARTS, sweeps=search.SWEEPS)

    def sampling(self, hypergraph: Hypergraph) -> AbstractWay:
        looks = SAMPLES + ROUNDS * (1 + sum(hypergraph.sizes))
        cost = float(looks * hypergraph.num_edges)
        return Sampling(cost=cost, samples=SAMPLES, rounds=ROUNDS)

    def enumeration(self, hypergraph: Hypergraph) -> AbstractWay:
        cost = enumeration_cost(hypergraph)
        if cost > HARD_LIMIT or hypergraph.num_actions >= 2**31:
            raise ValueError(
                f"enumeration cannot fit: there are {hypergraph.num_actions:,} joint actions; "
                f"sampling can"
            )
        return Enumeration(cost=cost)


WAYS: dict[str, Callable[[_Planner, Hypergraph], AbstractWay]] = {
    "decentralised": _Planner.decentralised,
    "components": _Planner.components,
    "elimination": _Planner.elimination,
    "branch-and-bound": _Planner.branch_and_bound,
    "ascent": _Planner.ascent,
    "sampling": _Planner.sampling,
    "enumeration": _Planner.enumeration,
}
"""The ways that have a name: what makes each for a hypergraph, or says why it cannot."""
