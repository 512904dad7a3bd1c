"""The agent that settings describe."""

from __future__ import annotations

from hyperaction.agents.ddpg import DDPGAgent
from hyperaction.agents.settings import DDPGSettings, LoopSettings, ValueSettings
from hyperaction.agents.value import ValueAgent


def build(
    settings: LoopSettings, sizes: tuple[int, ...], length: int, observation_shape: tuple[int, ...]
) -> ValueAgent | DDPGAgent:
    """The agent for an action of these vertices' sizes, or of so many real numbers."""
    if isinstance(settings, DDPGSettings):
        return DDPGAgent(settings, length, observation_shape)
    assert isinstance(settings, ValueSettings)
    return ValueAgent(settings, settings.hypergraph(sizes), observation_shape)
