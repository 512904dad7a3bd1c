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
"""The most steps that an action is held: the distribution itself has no longest."""


@dataclass(frozen=True)
class Extended(EpsilonGreedy):
    """With probability epsilon a random action begins, held for a random number of steps.

    After Dabney, Ostrovski and Barreto (2021). Durations have a zeta distribution. An action that
    is held ends with its episode, or when a mask forbids it.
    """

    exponent: float = 2.0
    """Of the zeta distribution: a duration of n steps has probability proportional to
    n ** -exponent; longer ones than 10,000 are cut."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exponent <= 1:
            raise SettingError(f"`exponent` must be above 1, not {self.exponent}")

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """The actions that are held, and the steps that are left of them."""
        shape = (explorer.num_envs, explorer.action_length)
        return {
            "left": np.zeros(self.shape(explorer), np.int64),
            "held": np.zeros(shape, explorer.actions.dtype),
        }

    def explore(self, explorer: Explorer) -> Actions:
        """Held, random and greedy actions to learn from."""
        memory, rng = explorer.memory, explorer.rng
        left = memory["left"].copy()
        begin = (rng.random(left.shape) < self.epsilon_at(explorer)) & (left == 0)
        if explorer.masks is not None and (left > 0).any():
            left[~explorer.allows(self._others(explorer, left > 0))] = 0
        if begin.all():
            actions = explorer.random_actions()
        else:
            # Without masks, what begins needs no greedy action in its place.
            known = (left > 0) | (begin & (explorer.masks is None))
            actions = self._others(explorer, known)
            if begin.any():
                actions = explorer.redraw(actions, np.broadcast_to(begin, actions.shape))
        if begin.any():
            durations = np.minimum(rng.zipf(self.exponent, left.shape), MAX_DURATION)
            left = np.where(begin, durations, left)
        memory["left"] = np.maximum(left - 1, 0)
        memory["held"] = np.array(actions, explorer.actions.dtype)
        return actions

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """Nothing is held."""
        explorer.memory["left"][env_index] = 0

    def _others(self, explorer: Explorer, held: NDArray[np.bool_]) -> Actions:
        """The actions of the last step where they are held, and greedy ones elsewhere."""
        last = explorer.memory["held"]
        return last if held.all() else np.where(held, last, explorer.greedy())
