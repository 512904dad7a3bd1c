"""The settings of DDPG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hyperaction.agents.config.base import AgentConfig
from hyperaction.agents.exploration import NOISES, AbstractExploration, OrnsteinUhlenbeck
from hyperaction.agents.parts import check, check_sizes, part
from hyperaction.agents.structure import Structure
from hyperaction.agents.targets import TARGETS, Polyak
from hyperaction.errors import SettingError
from hyperaction.layout import Layout

if TYPE_CHECKING:
    from hyperaction.agents.ddpg import DDPGAgent


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
        layout: Layout | None = None,
    ) -> DDPGAgent:
        """The agent for an action space and observations."""
        from hyperaction.agents.ddpg import DDPGAgent

        return DDPGAgent(self, len(sizes), observation_shape, layout)
