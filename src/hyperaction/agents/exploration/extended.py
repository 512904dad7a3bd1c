"""Temporally-extended epsilon-greedy: random actions that last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.exploration.base import Actions, Explorer
from hyperaction.agents.exploration.epsilon import EpsilonGreedy
from hyperaction.errors import SettingError

MAX_DURATION = 10_000
"""The most steps that an action is held, as in the paper: the distribution has no longest."""


@dataclass(frozen=True)
class Extended(EpsilonGreedy):
    """With probability epsilon a random action begins, held for a random number of steps.

    After Dabney, Ostrovski and Barreto (2021). Durations have a zeta distribution. An action that
    is held ends with its episode, or when a mask forbids it.
    """

    exponent: float = 2.0
    """Of the zeta distribution: a duration of n steps has probability proportional to
    n ** -exponent, up to 10,000 steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exponent <= 1:
            raise SettingError(f"`exponent` must be above 1, not {self.exponent}")

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """The actions that are held, and the steps that are left of them."""
        actions = explorer.actions
        return {
            "left": np.zeros(self.shape(explorer), np.int64),
            "held": np.zeros((explorer.num_envs, actions.length), actions.dtype),
        }

    def explore(self, explorer: Explorer) -> Actions:
        """Held, random and greedy actions to learn from."""
        memory, rng = explorer.memory, explorer.rng
        left, held = memory["left"].copy(), memory["held"]
        begin = (rng.random(left.shape) < self.epsilon_at(explorer)) & (left == 0)
        if explorer.masks is not None and (left > 0).any():
            left[~explorer.allows(self._held(explorer, left, held))] = 0
        if begin.all():  # Greedy actions are not waited for.
            actions = explorer.random_actions()
        elif begin.any():
            free = np.broadcast_to(begin, held.shape)
            actions = explorer.redraw(self._held(explorer, left, held), free)
        else:
            actions = self._held(explorer, left, held)
        if begin.any():
            durations = np.minimum(rng.zipf(self.exponent, left.shape), MAX_DURATION)
            left = np.where(begin, durations, left)
        memory["left"] = np.maximum(left - 1, 0)
        memory["held"] = np.array(actions, explorer.actions.dtype)
        return actions

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """Nothing is held."""
        explorer.memory["left"][env_index] = 0

    def _held(self, explorer: Explorer, left: NDArray[np.int64], held: Actions) -> Actions:
        """The held actions, and greedy ones where nothing is held."""
        return held if (left > 0).all() else np.where(left > 0, held, explorer.greedy())
