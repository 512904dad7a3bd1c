"""An environment of any spaces."""

import gymnasium
from gymnasium import spaces


class Any(gymnasium.Env):
    """An environment of any spaces; remembers the last action."""

    def __init__(self, observations, actions, info=None):
        self.observation_space, self.action_space = observations, actions
        self.info = info or {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), self.info

    def step(self, action):
        assert self.action_space.contains(action)
        self.last = action
        return self.observation_space.sample(), 1.5, False, True, self.info


BOX = spaces.Box(-1, 1, (3,))
