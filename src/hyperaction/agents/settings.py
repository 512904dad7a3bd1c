"""What an agent is: its settings. The paper's agents are values of them, not classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from hyperaction.hypergraph import HIGHEST, Hypergraph

MixerName = Literal["sum", "mean", "universal", "monotonic-linear", "monotonic", "qmix"]
AgentName = Literal["dqn", "hgqn", "rainbow", "hg-rainbow"]
PresetName = Literal["physical", "modern"]


@dataclass(frozen=True)
class ValueSettings:
    """A Q-learning agent whose parts are switches."""

    orders: tuple[int, ...] = (1,)
    """Orders of the hyperedges; -1 is the highest."""
    edges: tuple[str, ...] = ()
    """Hyperedges given by hand instead, such as 0 1 2 0,2."""
    mixer: MixerName = "sum"
    """What makes one value of the hyperedges' values."""
    hidden: tuple[int, ...] = (600, 400)
    """Hidden units of the state network's layers."""
    total_width: int = 400
    """Hidden units over all heads, and of the value stream."""
    layer_norm: bool = False
    """Normalise the state network's layers."""
    dueling: bool = False
    """A value stream beside the centred mixed values."""
    double: bool = False
    """Double Q-learning: the online network chooses, the target network judges."""
    n_step: int = 1
    """Steps of reward before bootstrapping."""
    prioritised: bool = False
    """Sample in proportion to the square root of the last loss."""
    loss: Literal["mse", "huber"] = "mse"
    """The loss of a temporal-difference error."""
    learning_rate: float = 0.00001
    """Adam's step size."""
    adam_epsilon: float = 0.0003125
    """Adam's constant for numerical stability."""
    gradient_clip: float = 0.0
    """The largest norm of a gradient; 0 is no limit."""
    discount: float = 0.99
    """What a reward is worth one step later."""
    minibatch: int = 64
    """Transitions per update."""
    update_period: int = 1
    """Environment steps per update."""
    target_period: int = 2_000
    """Steps between copies of the online to the target network."""
    polyak: float = 0.0
    """The share of the online network mixed into the target at every update, instead of copies."""
    replay_size: int = 100_000
    """Transitions that are kept."""
    replay_start: int = 10_000
    """Steps before learning starts."""
    epsilon: float = 0.05
    """The share of random actions in the end."""
    epsilon_steps: int = 50_000
    """Steps over which that share falls from one, after learning starts."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.discount <= 1.0:
            raise ValueError(f"--discount {self.discount} is not in 0 to 1")
        if not 0.0 <= self.epsilon <= 1.0:
            raise ValueError(f"--epsilon {self.epsilon} is not in 0 to 1")
        for option in ("n_step", "minibatch", "update_period", "target_period", "replay_size"):
            if getattr(self, option) < 1:
                flag = option.replace("_", "-")
                raise ValueError(f"--{flag} {getattr(self, option)} is below 1")
        if self.replay_start < self.minibatch:
            raise ValueError(
                f"--replay-start {self.replay_start} is below --minibatch {self.minibatch}"
            )

    def hypergraph(self, sizes: tuple[int, ...]) -> Hypergraph:
        """The agent's hyperedges on an action space."""
        if not self.edges:
            return Hypergraph.of_orders(sizes, self.orders)
        try:
            edges = [[int(vertex) for vertex in edge.split(",")] for edge in self.edges]
        except ValueError:
            raise ValueError(
                f"--edges {' '.join(self.edges)}: a hyperedge is vertices joined by commas, "
                f"such as 0,3"
            ) from None
        return Hypergraph(sizes, edges)


AGENTS: dict[AgentName, ValueSettings] = {
    "dqn": ValueSettings(orders=(HIGHEST,)),
    "hgqn": ValueSettings(orders=(1,)),
    "rainbow": ValueSettings(
        orders=(HIGHEST,), double=True, dueling=True, n_step=3, prioritised=True
    ),
    "hg-rainbow": ValueSettings(orders=(1,), double=True, dueling=True, n_step=3, prioritised=True),
}
"""The paper's agents, with its settings for physical control."""


PRESETS: dict[PresetName, dict[str, Any]] = {
    "physical": {},
    "modern": {
        "layer_norm": True,
        "n_step": 3,
        "loss": "huber",
        "learning_rate": 0.0003,
        "gradient_clip": 10.0,
        "polyak": 0.005,
        "minibatch": 128,
        "replay_size": 500_000,
        "replay_start": 5_000,
        "epsilon": 0.1,
        "epsilon_steps": 1,
    },
}
"""What a preset changes of the paper's settings for physical control."""


def preset(agent: AgentName, name: PresetName) -> ValueSettings:
    """An agent's settings: the paper's for physical control, or ones that learn faster."""
    return replace(AGENTS[agent], **PRESETS[name])
