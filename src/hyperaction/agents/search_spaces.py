"""What `hyperaction tune` searches: for each preset, the settings that matter and their ranges."""

from __future__ import annotations

from typing import NamedTuple

from hyperaction.agents.presets import AGENTS, AgentName, PresetName


class Range(NamedTuple):
    """Numbers from low to high: whole ones where both are."""

    low: float
    high: float
    log: bool = False
    """Whether they are searched by their logarithm."""


class Choice(NamedTuple):
    """Some values; one of several numbers is written as on the command line, `128 128`."""

    values: tuple[float | str, ...]


Space = dict[str, Range | Choice]
"""What is searched, by the names of settings; `rank` besides."""

DISCOUNTS = Choice((0.9, 0.95, 0.98, 0.99, 0.995))

SMALL: Space = {
    "optimiser.learning_rate": Range(5e-5, 5e-3, log=True),
    "batch_size": Choice((32, 64, 128, 256)),
    "n_step": Range(1, 8),
    "discount": DISCOUNTS,
    "exploration.final": Range(0.01, 0.2, log=True),
    "exploration.decay_steps": Range(500, 20_000, log=True),
    "target.rate": Range(0.001, 0.05, log=True),
    "network.hidden": Choice(("64 64", "128 128", "256 256")),
    "heads.total_width": Choice((64, 128, 256)),
    "rank": Range(1, 3),
}

MODERN: Space = {
    **SMALL,
    "optimiser.learning_rate": Choice((0.0001, 0.0003, 0.001, 0.003)),  # And the preset's schedule.
    "batch_size": Choice((64, 128, 256)),
    "n_step": Range(1, 5),
    "exploration.decay_steps": Range(1, 50_000, log=True),
    "network.hidden": Choice(("256 256", "400 300", "600 400")),
    "heads.total_width": Choice((200, 400, 800)),
}

PHYSICAL: Space = {
    **MODERN,
    "optimiser.learning_rate": Range(3e-6, 1e-3, log=True),
    "exploration.decay_steps": Range(5_000, 200_000, log=True),
    "target.interval": Range(200, 10_000, log=True),
}

DESCENDANT: Space = {
    "optimiser.learning_rate": Range(1e-5, 1e-3, log=True),
    "batch_size": Choice((128, 256, 512)),
    "n_step": Range(1, 5),
    "discount": DISCOUNTS,
    "exploration.final": Range(0.02, 0.2, log=True),
    "target.interval": Range(100, 4_000, log=True),
    "target.rate": Range(0.001, 0.05, log=True),
    "network.width": Choice((256, 512)),
    "heads.critics": Choice((1, 2, 5, 10)),
    "rank": Range(1, 2),
}

ATARI: Space = {
    "optimiser.learning_rate": Range(2e-5, 1e-3, log=True),
    "batch_size": Choice((32, 64)),
    "n_step": Range(1, 5),
    "discount": Choice((0.97, 0.98, 0.99, 0.995)),
    "exploration.final": Range(0.005, 0.05, log=True),
    "exploration.decay_steps": Range(50_000, 1_000_000, log=True),
    "target.interval": Range(1_000, 32_000, log=True),
    "heads.total_width": Choice((256, 512, 1_024)),
    "rank": Range(1, 3),
}

DDPG: Space = {
    "learning_rate": Range(1e-4, 1e-2, log=True),
    "actor_learning_rate": Range(1e-5, 1e-3, log=True),
    "batch_size": Choice((64, 128, 256)),
    "n_step": Range(1, 5),
    "discount": DISCOUNTS,
    "weight_decay": Choice((0.0, 0.001, 0.01)),
    "target.rate": Range(0.001, 0.02, log=True),
    "hidden": Choice(("256 256", "400 300")),
}

SPACES: dict[PresetName, Space] = {
    "physical": PHYSICAL,
    "modern": MODERN,
    "small": SMALL,
    "decqn": DESCENDANT,
    "revalued": DESCENDANT,
    "atari": ATARI,
}
"""The search spaces of presets. Settings that an agent does not have are left out."""


def space_for(agent: AgentName, preset: PresetName) -> Space:
    """The search space of an agent with a preset."""
    return DDPG if AGENTS[agent].continuous else SPACES[preset]
