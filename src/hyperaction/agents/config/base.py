"""What the trainer needs to know of any agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hyperaction.agents.exploration import EXPLORATIONS, AbstractExploration, EpsilonGreedy
from hyperaction.agents.parts import added, check, part
from hyperaction.agents.structure import Structure
from hyperaction.agents.targets import TARGETS, Copy
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.layout import Layout


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
    """Environment steps between updates."""
    gradient_steps: int = added(1)
    """Updates each time: with a train_frequency of 1, the replay ratio."""
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
        ones = ("n_step", "batch_size", "buffer_size", "train_frequency", "gradient_steps")
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
        layout: Layout | None = None,
    ) -> Any:
        """The agent for an action space and observations; with other hyperedges if so stored."""

    def num_outputs(self, sizes: Sequence[int]) -> int:
        """How many outputs the agent's hyperedges have on an action space, each with weights."""
        hypergraph = self.hypergraph(sizes)
        return 0 if hypergraph is None else hypergraph.num_outputs
