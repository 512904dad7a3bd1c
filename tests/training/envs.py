"""Small environments with known values."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Climbing(gymnasium.Env):
    """A contextual bandit whose best joint action needs its pair: one slip of it is punished.

    On average over the other vertex, the third sub-action of each is best, and so it is for any
    sum over single vertices; in the other context, sub-actions count backwards.
    """

    PAYOFF = np.array([[1.1, -3.0, 0.0], [-3.0, 0.7, 0.6], [0.0, 0.0, 0.5]])

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.context = self.np_random.choice([-1.0, 1.0])
        return np.array([self.context], np.float32), {}

    def step(self, action):
        payoff = self.PAYOFF if self.context > 0 else self.PAYOFF[::-1, ::-1]
        reward = float(payoff[tuple(action)])
        return np.array([self.context], np.float32), reward, True, False, {}


class Aiming(gymnasium.Env):
    """The reward is how near each number of the action is to the observation's."""

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 1.0]), dtype=np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.aim = self.np_random.uniform(-0.8, 0.8, 2)
        return self.aim.astype(np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        scaled = np.array([action[0] / 2.0, 2.0 * action[1] - 1.0])
        miss = float(((scaled - self.aim) ** 2).sum())
        return self.aim.astype(np.float32), -miss, True, False, {}


class Counting(gymnasium.Env):
    """Observations count the steps of an episode; it ends itself or is cut short in turns."""

    observation_space = spaces.Box(0, 1000, (1,))
    action_space = spaces.MultiDiscrete([2, 2])

    def __init__(self, length=4, with_mask=False):
        self.length, self.with_mask, self.episode = length, with_mask, 0

    @property
    def info(self):
        mask = np.ones(4, bool)
        mask[self.count % 2] = False
        return {"action_mask": mask} if self.with_mask else {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 100 * self.episode
        self.episode += 1
        return np.array([self.count], np.float32), self.info

    def step(self, action):
        if self.with_mask:
            assert action[0] != self.count % 2
        self.count += 1
        over = self.count % 100 == self.length
        terminated = over and self.episode % 2 == 0
        observation = np.array([self.count], np.float32)
        return observation, 1.0, terminated, over and not terminated, self.info


TINY: dict[str, Any] = {
    "preset": "physical",
    "hidden": (8,),
    "total_width": 8,
    "batch_size": 4,
    "learning_starts": 8,
    "buffer_size": 999,
}
