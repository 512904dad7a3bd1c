"""An environment of your own with rules: a mask that changes, and a limit that always holds.

Four heaters share a fuse, which carries two of them at a time. A room that is being cleaned has its
heater off. Run it: `python examples/own_environment.py --steps 3000`.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from gymnasium import spaces

from hyperaction import HGQN, Cardinality


class Heating(gymnasium.Env):
    """Observed: how far each room is from 20 degrees, and which room is being cleaned."""

    rooms, steps = 4, 20
    observation_space = spaces.Box(-1.0, 1.0, (2 * rooms,), np.float32)
    action_space = spaces.MultiDiscrete([3] * rooms)  # off, low, high
    action_names = ("kitchen", "study", "hall", "bath")
    action_constraints = Cardinality(at_most=2)  # In every state: two at most are not off.

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.degrees, self.step_number = self.np_random.uniform(12.0, 24.0, self.rooms), 0
        return self._next()

    def _next(self):
        self.cleaned = self.np_random.integers(self.rooms)
        missing = np.clip((20.0 - self.degrees) / 10.0, -1.0, 1.0)
        observation = np.concatenate([missing, np.arange(self.rooms) == self.cleaned])
        mask = {self.cleaned: [True, False, False]}  # In this state: off.
        return observation.astype(np.float32), {"action_mask": mask}

    def step(self, action):
        assert (action > 0).sum() <= 2, "the fuse is blown"
        assert action[self.cleaned] == 0, "someone was cleaning there"
        self.degrees += np.array([0.0, 1.0, 3.0])[action] - 0.05 * (self.degrees - 5.0)
        self.step_number += 1
        reward = -float(np.abs(self.degrees - 20.0).mean())
        observation, info = self._next()
        return observation, reward, False, self.step_number == self.steps, info


def main(steps=3000, seed=0):
    agent = HGQN(Heating(), rank=2, hidden=[64], learning_starts=200, seed=seed)
    print(agent.maximisation)

    def mean_return():
        episodes = agent.evaluate(Heating(), episodes=20, greedy=True)
        return float(np.mean([episode.total for episode in episodes]))

    before = mean_return()
    agent.learn(steps)
    after = mean_return()
    print(f"mean return: {before:.1f} before, {after:.1f} after {steps} steps")
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
