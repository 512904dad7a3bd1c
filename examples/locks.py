"""A small environment for the examples: dials that open locks, two dials for each lock."""

from __future__ import annotations

import gymnasium
import numpy as np


class Locks(gymnasium.Env):
    """Four dials of three positions; each lock hangs between two of them.

    A lock opens where its two dials add up to its number, modulo three: what one dial should do
    depends on its neighbour. The numbers are observed, and change after every step. A step pays 1
    for each lock that opens, so that the best return of ten steps is 30; random dials get 10.
    """

    dials, positions, steps = 4, 3, 10
    observation_space = gymnasium.spaces.Box(0.0, 1.0, ((dials - 1) * positions,), np.float32)
    action_space = gymnasium.spaces.MultiDiscrete([positions] * dials)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.step_number = 0
        return self._observation(), {}

    def step(self, action):
        opened = (action[:-1] + action[1:]) % self.positions == self.numbers
        self.step_number += 1
        truncated = self.step_number == self.steps
        return self._observation(), float(opened.sum()), False, truncated, {}

    def _observation(self):
        self.numbers = self.np_random.integers(self.positions, size=self.dials - 1)
        return np.eye(self.positions, dtype=np.float32)[self.numbers].ravel()
