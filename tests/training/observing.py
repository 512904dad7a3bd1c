"""Small environments whose observations have several parts, or statistics."""

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import NormalizeObservation, NormalizeReward


class Looking(gymnasium.Env):
    """The first sub-action should be the side of the image that is bright, and the second whether
    that is the side of the number's sign; the best return is 4, and 3 what either alone gives."""

    observation_space = spaces.Dict(
        camera=spaces.Box(0, 255, (8, 8, 1), np.uint8), side=spaces.Box(-1, 1, (1,))
    )
    action_space = spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._observation(), {}

    def step(self, action):
        wanted = (self.bright, int(self.bright == (self.side > 0)))
        reward = float(np.mean(np.equal(action, wanted)))
        self.count += 1
        return self._observation(), reward, False, self.count == 4, {}

    def _observation(self):
        self.bright = int(self.np_random.integers(2))
        self.side = float(self.np_random.choice([-1.0, 1.0]))
        camera = np.zeros((8, 8, 1), np.uint8)
        camera[:, 4 * self.bright : 4 * self.bright + 4] = 200
        return {"camera": camera, "side": np.array([self.side], np.float32)}


class Drifting(gymnasium.Env):
    """Numbers far from zero, which wrappers normalise."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,))
    action_space = spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._observation(), {}

    def step(self, action):
        self.count += 1
        reward = 10.0 * float(np.sum(action)) + 5.0
        return self._observation(), reward, self.count == 7, False, {}

    def _observation(self):
        return self.np_random.normal(50.0, 3.0, 2).astype(np.float32)


def normalised():
    return NormalizeReward(NormalizeObservation(Drifting()))


gymnasium.register("Looking-v0", "tests.training.observing:Looking")
gymnasium.register("Drifting-v0", "tests.training.observing:normalised")
