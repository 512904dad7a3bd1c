"""Noise on real actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.exploration.base import AbstractExploration, Actions, Explorer
from hyperaction.agents.parts import check
from hyperaction.errors import SettingError


@dataclass(frozen=True)
class OrnsteinUhlenbeck(AbstractExploration):
    """Noise on real actions that wanders from step to step; random until learning starts."""

    scale: float = 0.2
    """The noise's scale, where actions go from -1 to 1."""
    pull: float = 0.15
    """How strongly the noise is pulled back to zero at every step; 1 draws it independently."""

    def __post_init__(self) -> None:
        check(self)
        if self.scale <= 0:
            raise SettingError(f"`scale` must be above 0, not {self.scale}")

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """The noise of every environment."""
        return {"noise": np.zeros((explorer.num_envs, explorer.action_length), np.float32)}

    def explore(self, explorer: Explorer) -> Actions:
        """The policy's actions with noise."""
        if explorer.step < explorer.learning_starts:
            return explorer.random_actions()
        noise = explorer.memory["noise"]
        drawn = self.scale * explorer.rng.normal(size=noise.shape)
        noise = ((1.0 - self.pull) * noise + drawn).astype(np.float32)
        explorer.memory["noise"] = noise
        return np.clip(explorer.greedy() + noise, -1.0, 1.0)

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """The noise starts at zero again."""
        explorer.memory["noise"][env_index] = 0.0


@dataclass(frozen=True)
class Gaussian(OrnsteinUhlenbeck):
    """Noise on real actions that is drawn independently at every step."""

    pull: float = field(default=1.0, init=False, repr=False)
