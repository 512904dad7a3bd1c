"""The settings of Q-learning agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hyperaction.agents.config.base import AgentConfig
from hyperaction.agents.config.heads import Heads
from hyperaction.agents.growth import GROWTHS, NoGrowth
from hyperaction.agents.objectives import OBJECTIVES, TD, Logarithmic
from hyperaction.agents.optimisers import OPTIMISERS, Adam
from hyperaction.agents.parts import added, check, part
from hyperaction.agents.state_networks import NETWORKS, MLPNetwork
from hyperaction.agents.structure import STRUCTURES, Auto, Fixed, Structure, name_of
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.layout import Layout

if TYPE_CHECKING:
    from hyperaction.agents.q_learning import QLearningAgent

KINEMATIC = "kinematic"
"""What `edges` has for the hyperedges of a robot's joints, until its environment is known."""

AUTO = "auto"
"""What `edges` has where pairs are chosen by what they explain: the structure of that name."""


@dataclass(frozen=True)
class QLearningConfig(AgentConfig):
    """A Q-learning agent on a hypergraph: DQN, HGQN, both Rainbows and branching DQN."""

    continuous: ClassVar[bool] = False

    orders: tuple[int, ...] = (1,)
    """Orders of the hyperedges; -1 is the highest."""
    edges: tuple[str, ...] = ()
    """Hyperedges given one by one instead, of vertices by number or name, such as 0 1 hip,knee;
    kinematic stands for those of a robot's joints, and auto for pairs that are chosen by what they
    explain (--structure auto)."""
    mixer: str | Any = field(
        default="sum",
        metadata={"names": "hyperaction.mixers:MIXERS", "type": str, "by_reference": True},
    )
    """What turns the hyperedges' values into one value; module:Class is one of your own."""
    maximise: str | Any = field(
        default="",
        metadata={"names": "hyperaction.maximise.planner:WAYS", "type": str, "is_new": True},
    )
    """How best joint actions are found, in acting and in targets, instead of the cheapest way that
    is exact; sampling looks at the actions of a batch too."""
    budget: float = added(1.0)
    """How long exact ways may take to find best joint actions, in times of all else that a training
    step takes; past it, approximate ones are taken that take less."""
    act_by: Literal["online", "target"] = added("online")
    """The network whose best actions are taken, also in evaluations: the one that learns, or the
    target network, which under `target` polyak is the average of the last ones."""
    heads: Heads = Heads()
    network: Any = part(NETWORKS, MLPNetwork(), by_reference=True)
    """The state network; module:Class is one of your own."""
    normalise_observations: bool = added(False)
    """Normalise observations by their running mean and variance, over the batches of updates."""
    objective: Any = part(OBJECTIVES, TD(), kept=("double", "loss"))
    """What is learned from a transition."""
    optimiser: Any = part(OPTIMISERS, Adam())
    """What turns gradients into steps."""
    structure: Any = part(STRUCTURES, Fixed(), is_new=True)
    """How the hyperedges change while the agent learns."""
    grow: Any = part(GROWTHS, NoGrowth(), is_new=True)
    """When more sub-actions are added: --bins 3 5 9 are then levels, the coarsest first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, at_least={"budget": 0})
        if AUTO in self.edges:
            self._choose_pairs()
        self.structure.check_config(name_of(self.structure), self)
        self.grow.check_config(self)
        if self._covers_once and self.mixer not in ("sum", "mean"):
            raise SettingError(
                "`objective` branching does not mix hyperedges: `mixer` must stay sum or mean"
            )
        of_objective = getattr(self.exploration, "of_objective", False)
        if of_objective and not hasattr(self.objective, "temperature_of"):
            raise SettingError(
                "`exploration` policy draws actions at the temperature of the `objective` soft; "
                "with others, choose boltzmann"
            )
        if self._covers_once and self.heads.critics > 1:
            raise SettingError("`objective` branching takes one critic, not several: `critics` 1")
        if self.heads.hierarchical and not self.grow.changes:
            raise SettingError(
                "`hierarchical` is for action spaces that grow: choose `grow` linear or adaptive"
            )
        is_mixed = not self.heads.action_in and not isinstance(self.objective, Logarithmic)
        if self.heads.hierarchical and not is_mixed:
            raise SettingError(
                "`hierarchical` is for values mixed from hyperedges: neither `action_in` nor the "
                "`objective` logarithmic"
            )
        if self.budget != QLearningConfig.budget and not is_mixed:
            raise SettingError(
                "`budget` is for values mixed from hyperedges, which can be maximised exactly; "
                "with others, `maximise` chooses enumeration or sampling"
            )
        if self.heads.action_in:
            self._check_action_in()
        if isinstance(self.objective, Logarithmic):
            self._check_logarithmic(self.objective)

    def _check_action_in(self) -> None:
        """Refuses what a network that takes the action in cannot do."""
        if getattr(self.objective, "needs_hyperedges", False):
            raise SettingError(
                "`action_in` networks have values and no hyperedges' tables: `objective` must be td"
            )
        if self.mixer not in ("sum", "mean"):
            raise SettingError("`action_in` networks mix nothing: `mixer` must stay sum or mean")
        if self.heads.dueling:
            raise SettingError(
                "`action_in` networks cannot be centred on the mean action: not with `dueling`"
            )
        if self.heads.critics > 1:
            raise SettingError("`action_in` takes one critic, not several: `critics` 1")
        if not self.heads.total_width:
            raise SettingError("`action_in` needs hidden units: `total_width` must be at least 1")

    def _check_logarithmic(self, objective: Logarithmic) -> None:
        """Refuses what logarithms of values do not combine with."""
        objective.check_discount(self.discount)
        if self.heads.dueling:
            raise SettingError(
                "`objective` logarithmic maps each mix by itself: not with `dueling`, which adds "
                "one value to all"
            )
        if self.heads.critics > 1:
            raise SettingError("`objective` logarithmic takes one critic: `critics` 1")

    def _choose_pairs(self) -> None:
        """Writes out what `edges` auto stands for."""
        if self.edges != (AUTO,):
            given = " ".join(self.edges)
            raise SettingError(f"`edges` {given}: auto stands alone, for all pairs of vertices")
        object.__setattr__(self, "edges", ())
        object.__setattr__(self, "orders", (1, 2))
        if isinstance(self.structure, Fixed):
            object.__setattr__(self, "structure", Auto())

    @property
    def num_critics(self) -> int:
        """How many critics there are, under a mixer that is a weighted sum."""
        if self.heads.critics:
            return self.heads.critics
        mixed = not self.heads.action_in and not isinstance(self.objective, Logarithmic)
        moved = self.structure.changes or self.grow.changes
        return 2 if mixed and not moved and not self._covers_once else 1

    @property
    def _covers_once(self) -> bool:
        return bool(getattr(self.objective, "covers_vertices_once", False))

    def hypergraph(self, sizes: Sequence[int]) -> Hypergraph:
        """The agent's hyperedges on an action space."""
        hypergraph = self._hypergraph(tuple(sizes))
        vertices = sorted(vertex for edge in hypergraph.edges for vertex in edge)
        if self._covers_once and vertices != list(range(len(sizes))):
            raise SettingError(
                "`objective` branching learns hyperedges by themselves, so every vertex must be in "
                "exactly one of them, as with `rank` 1"
            )
        self.structure.check_hypergraph(name_of(self.structure), hypergraph)
        self.grow.check_sizes(sizes)
        return hypergraph

    def num_outputs(self, sizes: Sequence[int]) -> int:
        """How many outputs the agent's hyperedges have; or else sub-actions, which have weights."""
        return sum(sizes) if self.heads.action_in else super().num_outputs(sizes)

    def _hypergraph(self, sizes: tuple[int, ...]) -> Hypergraph:
        if not self.edges:
            try:
                hypergraph = Hypergraph.of_orders(sizes, self.orders)
                hypergraph.check_indexable()
                return hypergraph
            except ValueError as error:
                highest = max(self.orders, default=0)
                is_rank = self.orders == tuple(range(1, len(self.orders) + 1))
                given = f"`rank` {highest}, " if is_rank else ""
                orders = " ".join(map(str, self.orders))
                raise SettingError(f"{given}`orders` {orders}: {error}") from None
        if KINEMATIC in self.edges:
            raise SettingError(
                "`edges` kinematic stands for hyperedges of a robot; make the agent with its "
                "environment"
            )
        try:
            edges = [[int(vertex) for vertex in edge.split(",")] for edge in self.edges]
        except ValueError:
            raise SettingError(
                f"`edges` {' '.join(self.edges)}: a hyperedge is vertices joined by commas, "
                f"such as 0,3, or kinematic; those with names are known with the environment"
            ) from None
        return Hypergraph(sizes, edges)

    def build(
        self,
        sizes: Sequence[int],
        observation_shape: tuple[int, ...],
        structure: Structure | None = None,
        layout: Layout | None = None,
    ) -> QLearningAgent:
        """The agent for an action space and observations; with other hyperedges if so stored."""
        from hyperaction.agents.q_learning import QLearningAgent

        hypergraph = self.hypergraph(sizes)
        if not self.structure.changes and not self.grow.changes:
            if structure is not None:
                raise ValueError("its hyperedges changed, which its settings do not allow")
            return QLearningAgent(self, hypergraph, observation_shape, layout=layout)
        if structure is None:
            structure = Structure(self.structure.first(hypergraph), self.heads.width_of(hypergraph))
        if structure.level and structure.level >= len(self.grow.levels):
            raise ValueError(f"there is no level {structure.level}")
        now = Hypergraph(hypergraph.sizes, structure.edges)
        return QLearningAgent(self, now, observation_shape, structure, layout)
