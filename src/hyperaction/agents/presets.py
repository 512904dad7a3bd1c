"""The paper's agents and the settings of its studies: values of settings, not classes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Literal

from hyperaction.agents.settings import DDPGSettings, LoopSettings, ValueSettings
from hyperaction.hypergraph import HIGHEST

AgentName = Literal["dqn", "hgqn", "rainbow", "hg-rainbow", "bdqn", "ddpg"]
PresetName = Literal["physical", "modern", "atari"]

AGENTS: dict[AgentName, LoopSettings] = {
    "dqn": ValueSettings(orders=(HIGHEST,)),
    "hgqn": ValueSettings(orders=(1,)),
    "rainbow": ValueSettings(
        orders=(HIGHEST,), double=True, dueling=True, n_step=3, prioritised=True
    ),
    "hg-rainbow": ValueSettings(orders=(1,), double=True, dueling=True, n_step=3, prioritised=True),
    "bdqn": ValueSettings(orders=(1,), branching="mean", double=True, dueling=True),
    "ddpg": DDPGSettings(),
}
"""The paper's agents, with its settings for physical control."""


PRESETS: dict[PresetName, dict[str, Any]] = {
    "physical": {},
    "modern": {
        "mixer": "mean",
        "layer_norm": True,
        "n_step": 3,
        "loss": "huber",
        "learning_rate": 0.0001,
        "optimiser_epsilon": 1e-8,
        "gradient_clip": 10.0,
        "polyak": 0.005,
        "minibatch": 128,
        "replay_size": 500_000,
        "replay_start": 5_000,
        "epsilon": 0.05,
        "epsilon_steps": 1,
    },
    "atari": {
        "network": "cnn",
        "total_width": 512,
        "width_multiple": 1,
        "loss": "huber",
        "optimiser": "rmsprop",
        "learning_rate": 0.00025,
        "optimiser_epsilon": 0.00001,
        "minibatch": 32,
        "update_period": 4,
        "target_period": 8_000,
        "replay_size": 1_000_000,
        "replay_start": 20_000,
        "epsilon": 0.01,
        "epsilon_steps": 250_000,
        "reward_clip": 1.0,
    },
}
"""What a preset changes of the paper's settings for physical control."""

ATARI_HYPERGRAPH = {"orders": (1, 2, 3)}
ATARI_RAINBOW = {"optimiser": "adam", "learning_rate": 0.0000625, "optimiser_epsilon": 0.00015}
ATARI: dict[AgentName, dict[str, Any]] = {
    "hgqn": ATARI_HYPERGRAPH,
    "rainbow": ATARI_RAINBOW,
    "hg-rainbow": ATARI_HYPERGRAPH | ATARI_RAINBOW,
}
"""What the paper's agents have of their own in Atari games."""


MOST_VERTICES = 1_000


def usual_preset(env: str) -> PresetName:
    """The preset for the environment of an id: Atari's for games, else that of physical control."""
    return "atari" if env.split(":")[-1].startswith("ALE/") else "physical"


def preset(agent: AgentName, name: PresetName) -> LoopSettings:
    """An agent's settings: the paper's for its studies, or ones that learn faster."""
    if agent == "ddpg" and name == "atari":
        raise ValueError("ddpg acts with real numbers, which Atari games do not take")
    if agent == "ddpg" and name != "physical":
        raise ValueError(f"--preset {name} is for Q-learning agents; ddpg has --preset physical")
    own = ATARI.get(agent, {}) if name == "atari" else {}
    return replace(AGENTS[agent], **PRESETS[name] | own)


def with_rank(agent: AgentName, settings: LoopSettings, rank: int) -> LoopSettings:
    """The agent with all hyperedges up to this order."""
    if not isinstance(settings, ValueSettings):
        raise ValueError(f"--rank {rank}: {agent} has no hyperedges")
    if agent in ("dqn", "rainbow"):
        raise ValueError(
            f"--rank {rank}: {agent} has the hyperedge of all vertices alone; with others it is "
            f"the agent {'hgqn' if agent == 'dqn' else 'hg-rainbow'}"
        )
    if settings.edges:
        raise ValueError(f"--rank {rank} and --edges {' '.join(settings.edges)}: give one of them")
    if rank > MOST_VERTICES:
        raise ValueError(f"--rank {rank} is above {MOST_VERTICES}, the most vertices there may be")
    return replace(settings, orders=tuple(range(1, rank + 1)))


def settings_of(name: AgentName, values: dict[str, Any]) -> LoopSettings:
    """An agent's settings from JSON; other versions may have had ones that are unknown here."""
    if name not in AGENTS:
        raise ValueError(f"there is no agent {name}; there is {', '.join(AGENTS)}")
    kind = type(AGENTS[name])
    known = {field.name for field in fields(kind)}
    kept: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in values.items() if key in known
    }
    return kind(**kept)
