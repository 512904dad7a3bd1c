"""The paper's agents and the settings of its studies: values of configurations, not classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args

from hyperaction.agents.config import AUTO, AgentConfig, DDPGConfig, QLearningConfig
from hyperaction.agents.parts import from_dict, with_changes
from hyperaction.agents.schedules import Linear
from hyperaction.agents.structure import name_of
from hyperaction.errors import SettingError, unknown
from hyperaction.hypergraph import HIGHEST

AgentName = Literal["dqn", "hgqn", "rainbow", "hg-rainbow", "bdqn", "action-in", "ddpg"]
PresetName = Literal["physical", "modern", "small", "decqn", "revalued", "atari"]

RAINBOW = {"objective.double": True, "heads.dueling": True, "n_step": 3, "prioritised": True}

AGENTS: dict[AgentName, AgentConfig] = {
    "dqn": QLearningConfig(orders=(HIGHEST,)),
    "hgqn": QLearningConfig(orders=(1,)),
    "rainbow": with_changes(QLearningConfig(orders=(HIGHEST,)), RAINBOW),
    "hg-rainbow": with_changes(QLearningConfig(orders=(1,)), RAINBOW),
    "bdqn": with_changes(
        QLearningConfig(orders=(1,)),
        {"objective": "branching", "objective.double": True, "heads.dueling": True},
    ),
    "action-in": with_changes(QLearningConfig(orders=(1,)), {"heads.action_in": True}),
    "ddpg": DDPGConfig(),
}
"""The paper's agents and its baselines, with its settings for physical control."""

DESCENDANT = {
    "mixer": "mean",
    "network": "residual",
    "heads.total_width": 0,
    "heads.shared_state": False,
    "n_step": 3,
    "objective.loss": "huber",
    "optimiser.learning_rate": 0.0001,
    "optimiser.epsilon": 1e-8,
    "optimiser.gradient_clip": 40.0,
    "batch_size": 256,
    "buffer_size": 1_000_000,
    "learning_starts": 1_000,
    "exploration.final": 0.1,
    "exploration.decay_steps": 1,
}
"""What the paper's rank-1 descendants share."""

FAST = {
    "mixer": "mean",
    "network.layer_norm": True,
    "n_step": 3,
    "objective.loss": "huber",
    "optimiser.epsilon": 1e-8,
    "optimiser.gradient_clip": 10.0,
    "target": "polyak",
    "target.rate": 0.005,
    "exploration.final": 0.05,
}
"""What the presets modern and small share."""

PRESETS: dict[PresetName, dict[str, Any]] = {
    "physical": {},
    "modern": {
        **FAST,
        "network.hidden": (256, 256),
        "heads.total_width": 256,
        "heads.critics": 0,
        "objective.target_critics": "min",
        "optimiser.learning_rate": Linear(0.001, 0.0001, 300_000),
        "discount": 0.98,
        "batch_size": 128,
        "buffer_size": 500_000,
        "learning_starts": 5_000,
        "exploration.decay_steps": 1,
    },
    "small": {
        **FAST,
        "network.hidden": (128, 128),
        "heads.total_width": 128,
        "optimiser.learning_rate": 0.0005,
        "batch_size": 64,
        "buffer_size": 100_000,
        "learning_starts": 500,
        "exploration.decay_steps": 3_000,
    },
    "decqn": {
        **DESCENDANT,
        "heads.critics": 2,
        "prioritised": True,
        "priority_exponent": 0.6,
        "weight_exponent": 0.2,
        "target.interval": 800,
        "train_frequency": 8,
    },
    "revalued": {
        **DESCENDANT,
        "heads.critics": 10,
        "target": "polyak",
        "target.rate": 0.005,
        "train_frequency": 5,
    },
    "atari": {
        "network": "cnn",
        "heads.total_width": 512,
        "heads.width_multiple": 1,
        "objective.loss": "huber",
        "optimiser": "rmsprop",
        "optimiser.learning_rate": 0.00025,
        "optimiser.epsilon": 0.00001,
        "batch_size": 32,
        "train_frequency": 4,
        "target.interval": 8_000,
        "buffer_size": 1_000_000,
        "learning_starts": 20_000,
        "exploration.final": 0.01,
        "exploration.decay_steps": 250_000,
        "reward_clip": 1.0,
    },
}
"""What a preset changes of the paper's settings for physical control: modern settings for robots,
and for smaller problems; those of its descendants DecQN (Seyde et al., 2023) and REValueD (Ireland
and Montana, 2024); and Atari's."""

ATARI_HYPERGRAPH = {"orders": (1, 2, 3)}
ATARI_RAINBOW = {
    "optimiser": "adam",
    "optimiser.learning_rate": 0.0000625,
    "optimiser.epsilon": 0.00015,
}
ATARI: dict[AgentName, dict[str, Any]] = {
    "hgqn": ATARI_HYPERGRAPH,
    "rainbow": ATARI_RAINBOW,
    "hg-rainbow": ATARI_HYPERGRAPH | ATARI_RAINBOW,
}
"""What the paper's agents have of their own in Atari games."""

DESCENDANTS = ("decqn", "revalued")
LINEAR_HEADS = ("hgqn", "dqn")
"""The agents that these presets are for: the others' heads need hidden units."""

MAX_VERTICES = 1_000

OTHER: dict[AgentName, AgentName] = {"dqn": "hgqn", "rainbow": "hg-rainbow"}
"""Agents of one hyperedge, and the same with others."""


def config_for(
    agent: AgentName,
    preset: PresetName,
    *,
    rank: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> AgentConfig:
    """An agent's configuration: a preset, with all hyperedges up to a rank and other changes."""
    if agent not in AGENTS:
        raise SettingError(f"`agent`: {unknown('agent', agent, get_args(AgentName))}")
    if preset not in PRESETS:
        raise SettingError(f"`preset`: {unknown('preset', preset, get_args(PresetName))}")
    config = AGENTS[agent]
    if config.continuous and preset == "atari":
        raise SettingError(f"{agent} acts with real numbers, which Atari games do not take")
    if config.continuous and preset != "physical":
        raise SettingError(
            f"`preset` {preset} is for Q-learning agents; {agent} has `preset` physical"
        )
    if preset in DESCENDANTS and agent not in LINEAR_HEADS:
        raise SettingError(
            f"`preset` {preset} has linear heads, which {' and '.join(LINEAR_HEADS)} can have and "
            f"{agent} cannot"
        )
    own = ATARI.get(agent, {}) if preset == "atari" else {}
    config = with_changes(config, _of_objective(config, PRESETS[preset]) | own)
    config = with_changes(config, _with_edges(changes or {}))
    config = config if rank is None else with_rank(agent, config, rank)
    check_structure(agent, config)
    return config


def _of_objective(config: AgentConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those of an objective other than the agent's own."""
    has = {each.name for each in fields(getattr(config, "objective", config))}
    owners = {name: name.rpartition(".") for name in settings}
    return {
        name: settings[name]
        for name, (owner, _, setting) in owners.items()
        if owner != "objective" or setting in has
    }


def check_structure(agent: AgentName, config: AgentConfig) -> None:
    """Refuses hyperedges that change in an agent that has one of all vertices."""
    if agent in OTHER and isinstance(config, QLearningConfig) and config.structure.changes:
        raise SettingError(
            f"`structure` {name_of(config.structure)}: {agent} has only the hyperedge of all "
            f"vertices; with others it is the agent {OTHER[agent]}"
        )


def _with_edges(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Python has tuples for what the command line writes with commas."""
    if "edges" not in changes:
        return dict(changes)
    given = changes["edges"]
    edges = tuple(
        edge if isinstance(edge, str) else ",".join(map(str, edge))
        for edge in ([given] if isinstance(given, str) else given)
    )
    # Its settings are known once it is chosen.
    chosen = {"structure": "auto"} if AUTO in edges and "structure" not in changes else {}
    return {**changes, **chosen, "edges": edges}


def with_rank(agent: AgentName, config: AgentConfig, rank: int) -> AgentConfig:
    """The agent with all hyperedges up to this order."""
    if not isinstance(config, QLearningConfig):
        raise SettingError(f"`rank` {rank}: {agent} has no hyperedges")
    if config.heads.action_in:
        raise SettingError(f"`rank` {rank}: a network that takes the action in has no hyperedges")
    if AGENTS[agent].orders == (HIGHEST,):  # type: ignore[attr-defined]
        other = OTHER[agent]
        raise SettingError(
            f"`rank` {rank}: {agent} has only the hyperedge of all vertices; with others it is "
            f"the agent {other}"
        )
    if config.edges:
        raise SettingError(f"`rank` {rank} and `edges` {' '.join(config.edges)}: give one of them")
    if not 1 <= rank <= MAX_VERTICES:
        raise SettingError(f"`rank` must be from 1 to {MAX_VERTICES}, not {rank}")
    return with_changes(config, {"orders": tuple(range(1, rank + 1))})


def has_preset_orders(agent: AgentName, preset: PresetName, config: AgentConfig) -> bool:
    """Whether the orders of an agent's hyperedges are those that its preset has for Atari games."""
    orders = ATARI.get(agent, {}).get("orders") if preset == "atari" else None
    return isinstance(config, QLearningConfig) and not config.edges and config.orders == orders


def with_fitting_orders(
    agent: AgentName, preset: PresetName, config: AgentConfig, num_vertices: int
) -> AgentConfig:
    """The configuration without those orders of its preset that so few vertices do not have."""
    if not has_preset_orders(agent, preset, config):
        return config
    assert isinstance(config, QLearningConfig)
    orders = tuple(order for order in config.orders if order <= num_vertices)
    return with_changes(config, {"orders": orders})


def restored(
    agent: AgentName, data: Mapping[str, Any], own: Mapping[str, Any] | None = None
) -> AgentConfig:
    """An agent's configuration from JSON, with objects of the user's own in their places."""
    if agent not in AGENTS:
        raise SettingError(unknown("agent", agent, get_args(AgentName)))
    return from_dict(type(AGENTS[agent]), data, own or {})
