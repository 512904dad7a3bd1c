"""What an agent is: its configuration, grouped by the parts that settings belong to.

Settings have the names that other libraries use: `batch_size`, `buffer_size` and `learning_starts`
as in Stable-Baselines3, `train_frequency` as in CleanRL; `discount`, as in dqn_zoo, is what others
call gamma. Everything here can be read without loading JAX.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hyperaction.agents.exploration import (
    EXPLORATIONS,
    NOISES,
    AbstractExploration,
    EpsilonGreedy,
    OrnsteinUhlenbeck,
)
from hyperaction.agents.growth import GROWTHS, NoGrowth
from hyperaction.agents.objectives import OBJECTIVES, TD, Logarithmic
from hyperaction.agents.optimisers import OPTIMISERS, Adam
from hyperaction.agents.parts import added, check, check_sizes, part
from hyperaction.agents.state_networks import NETWORKS, MLPNetwork
from hyperaction.agents.structure import STRUCTURES, Auto, Fixed, Structure, name_of
from hyperaction.agents.targets import TARGETS, Copy, Polyak
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph

if TYPE_CHECKING:
    from hyperaction.agents.ddpg import DDPGAgent
    from hyperaction.agents.q_learning import QLearningAgent


KINEMATIC = "kinematic"
"""What `edges` has for the hyperedges of a robot's joints, until its environment is known."""

AUTO = "auto"
"""What `edges` has where pairs are chosen by what they explain: the structure of that name."""


@dataclass(frozen=True)
class AgentConfig(ABC):
    """What the trainer needs to know of any agent."""

    continuous: ClassVar[bool]
    """Whether actions are real numbers instead of sub-actions."""

    discount: float = 0.99
    """What a reward is worth one step later (gamma)."""
    n_step: int = 1
    """Steps of reward before bootstrapping."""
    batch_size: int = 64
    """Transitions per update."""
    buffer_size: int = 100_000
    """Transitions that replay holds; of images, frames."""
    learning_starts: int = 10_000
    """Steps before learning starts."""
    train_frequency: int = 1
    """Environment steps per update."""
    prioritised: bool = False
    """Sample in proportion to the square root of the last loss."""
    priority_exponent: float = added(1.0)
    """The exponent of that root (alpha)."""
    weight_exponent: float = added(0.5)
    """How far weights of the loss correct the bias of priorities (beta); 1 is in full."""
    reward_clip: float = 0.0
    """Rewards are clipped to plus and minus this for learning; 0 is no limit."""
    overlap: bool = False
    """Step the environment while an update is computed; actions are then those of the parameters
    before that update."""
    target: Any = part(TARGETS, Copy())
    """How the target network follows the online network."""
    exploration: AbstractExploration = part(
        EXPLORATIONS, EpsilonGreedy(), kept=("final", "decay_steps", "evaluation", "epsilon")
    )
    """What the agent does besides its best."""

    def __post_init__(self) -> None:
        zeros = ("reward_clip", "priority_exponent", "weight_exponent")
        ones = ("n_step", "batch_size", "buffer_size", "train_frequency")
        check(self, at_least={**dict.fromkeys(ones, 1), **dict.fromkeys(zeros, 0)})
        if not 0.0 <= self.discount <= 1.0:
            raise SettingError(f"`discount` must be from 0 to 1, not {self.discount}")
        for name in ("buffer_size", "learning_starts"):
            if getattr(self, name) < self.batch_size:
                raise SettingError(
                    f"`{name}` {getattr(self, name)} must be at least `batch_size`, "
                    f"{self.batch_size}"
                )

    @abstractmethod
    def hypergraph(self, sizes: Sequence[int]) -> Hypergraph | None:
        """The agent's hyperedges on an action space, if it has any."""

    @abstractmethod
    def build(
        self,
        sizes: Sequence[int],
        observation_shape: tuple[int, ...],
        structure: Structure | None = None,
    ) -> Any:
        """The agent for an action space and observations; with other hyperedges if so stored."""

    def num_outputs(self, sizes: Sequence[int]) -> int:
        """How many outputs the agent's hyperedges have on an action space, each with weights."""
        hypergraph = self.hypergraph(sizes)
        return 0 if hypergraph is None else hypergraph.num_outputs


@dataclass(frozen=True)
class Heads:
    """The hyperedges' heads."""

    total_width: int = 400
    """Hidden units over all heads, and of the value stream; 0: heads are linear."""
    width_multiple: int = 5
    """Each head's share of them is rounded up to a multiple of this."""
    dueling: bool = False
    """A value stream beside the centred mixed values."""
    critics: int = added(1)
    """Networks that estimate values side by side; actions are those of their mean."""
    shared_state: bool = added(True)
    """Critics share the state network, instead of one each."""
    hierarchical: bool = added(False)
    """With `grow`, a sub-action has the value of its parent on the coarser grid plus its own, which
    starts at zero."""
    action_in: bool = added(False)
    """The action goes into the network, which gives its one value: no heads, and no hyperedges."""

    def __post_init__(self) -> None:
        check(self, at_least={"total_width": 0, "width_multiple": 1, "critics": 1})
        if self.dueling and not self.total_width:
            raise SettingError("`dueling` needs hidden units: `total_width` must be at least 1")

    def width_of(self, hypergraph: Hypergraph) -> int:
        """Hidden units of each head."""
        from hyperaction.blocks import head_width

        return head_width(hypergraph.num_edges, self.total_width, self.width_multiple)


@dataclass(frozen=True)
class QLearningConfig(AgentConfig):
    """A Q-learning agent on a hypergraph: DQN, HGQN, both Rainbows and branching DQN."""

    continuous: ClassVar[bool] = False

    orders: tuple[int, ...] = (1,)
    """Orders of the hyperedges; -1 is the highest."""
    edges: tuple[str, ...] = ()
    """Hyperedges given one by one instead, such as 0 1 2 0,2; kinematic stands for those of a
    robot's joints, and auto for pairs that are chosen by what they explain (--structure auto)."""
    mixer: str | Any = field(
        default="sum", metadata={"names": "hyperaction.mixers:MIXERS", "type": str}
    )
    """What turns the hyperedges' values into one value."""
    maximise: str | Any = field(
        default="",
        metadata={"names": "hyperaction.maximise.planner:WAYS", "type": str, "is_new": True},
    )
    """How best joint actions are found, in acting and in targets, instead of the cheapest way that
    is exact; sampling looks at the actions of a batch too."""
    heads: Heads = Heads()
    network: Any = part(NETWORKS, MLPNetwork())
    """The state network."""
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
                f"such as 0,3, or kinematic"
            ) from None
        return Hypergraph(sizes, edges)

    def build(
        self,
        sizes: Sequence[int],
        observation_shape: tuple[int, ...],
        structure: Structure | None = None,
    ) -> QLearningAgent:
        """The agent for an action space and observations; with other hyperedges if so stored."""
        from hyperaction.agents.q_learning import QLearningAgent

        hypergraph = self.hypergraph(sizes)
        if not self.structure.changes and not self.grow.changes:
            if structure is not None:
                raise ValueError("its hyperedges changed, which its settings do not allow")
            return QLearningAgent(self, hypergraph, observation_shape)
        if structure is None:
            structure = Structure(self.structure.first(hypergraph), self.heads.width_of(hypergraph))
        if structure.level and structure.level >= len(self.grow.levels):
            raise ValueError(f"there is no level {structure.level}")
        now = Hypergraph(hypergraph.sizes, structure.edges)
        return QLearningAgent(self, now, observation_shape, structure)


@dataclass(frozen=True)
class DDPGConfig(AgentConfig):
    """Deep deterministic policy gradients, with the settings of Lillicrap et al. (2016)."""

    continuous: ClassVar[bool] = True

    buffer_size: int = 1_000_000
    hidden: tuple[int, ...] = (400, 300)
    """Hidden units of both networks' layers; the action enters the critic at the second."""
    learning_rate: float = 0.001
    """The critic's step size of Adam."""
    actor_learning_rate: float = 0.0001
    """The actor's step size of Adam."""
    weight_decay: float = 0.01
    """How strongly the critic's weights are pulled to zero, added to their gradient."""
    target: Any = part(TARGETS, Polyak(0.001))
    """How the target networks follow the online networks."""
    exploration: AbstractExploration = part(NOISES, OrnsteinUhlenbeck())
    """The noise added to the policy's actions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, at_least={"weight_decay": 0})
        for name in ("learning_rate", "actor_learning_rate"):
            if getattr(self, name) <= 0:
                raise SettingError(f"`{name}` must be above 0, not {getattr(self, name)}")
        if self.prioritised:
            raise SettingError("`prioritised` is not for ddpg, which weighs all transitions alike")
        check_sizes("hidden", self.hidden)
        if len(self.hidden) < 2:
            raise SettingError("`hidden` needs at least two layers: the action enters the second")

    def hypergraph(self, sizes: Sequence[int]) -> None:
        """Real actions have no hyperedges."""

    def build(
        self,
        sizes: Sequence[int],
        observation_shape: tuple[int, ...],
        structure: Structure | None = None,
    ) -> DDPGAgent:
        """The agent for an action space and observations."""
        from hyperaction.agents.ddpg import DDPGAgent

        return DDPGAgent(self, len(sizes), observation_shape)
