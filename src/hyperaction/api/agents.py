"""The agents of the paper and its baselines, each a name."""

from __future__ import annotations

from hyperaction.agents.presets import AgentName
from hyperaction.api.base import BaseAgent


class HGQN(BaseAgent):
    """A hypergraph Q-network."""

    name = "hgqn"


class DQN(BaseAgent):
    """A deep Q-network: one value for every joint action."""

    name = "dqn"


class Rainbow(BaseAgent):
    """The paper's simplified Rainbow."""

    name = "rainbow"


class HGRainbow(BaseAgent):
    """The simplified Rainbow on a hypergraph."""

    name = "hg-rainbow"


class BDQN(BaseAgent):
    """Branching DQN: every vertex learns by itself."""

    name = "bdqn"


class ActionIn(BaseAgent):
    """A Q-network that takes the state and the action, and gives one value."""

    name = "action-in"


class DDPG(BaseAgent):
    """Deep deterministic policy gradients, for `Box` actions as they are."""

    name = "ddpg"


AGENT_CLASSES: dict[AgentName, type[BaseAgent]] = {
    each.name: each for each in (HGQN, DQN, Rainbow, HGRainbow, BDQN, ActionIn, DDPG)
}
