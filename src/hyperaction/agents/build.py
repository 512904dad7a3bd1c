"""The agent that settings describe."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hyperaction.agents.ddpg import DDPGAgent
from hyperaction.agents.settings import DDPGSettings, LoopSettings, ValueSettings
from hyperaction.agents.value import ValueAgent


@runtime_checkable
class Actions(Protocol):
    """An action space."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of sub-actions of each vertex."""
        ...


def build(
    settings: LoopSettings, actions: Actions, observation_shape: tuple[int, ...]
) -> ValueAgent | DDPGAgent:
    """The agent for an action space and observations."""
    if isinstance(settings, DDPGSettings):
        return DDPGAgent(settings, len(actions.sizes), observation_shape)
    assert isinstance(settings, ValueSettings)
    return ValueAgent(settings, settings.hypergraph(actions.sizes), observation_shape)
