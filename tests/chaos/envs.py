"""An environment that keeps its promises until a trial says otherwise."""

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

MASK_LENGTH = 5


class Switches(gymnasium.Env):
    """A switch of two positions and one of three; a step is worth the sum, episodes have ten.

    One position is not allowed in turns, which the mask says.
    """

    observation_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = spaces.MultiDiscrete([2, 3])
    fault: ClassVar[Callable[[str, list[Any]], Any] | None] = None
    """Given the name of a call and its answer, what is returned instead."""
    left: ClassVar[int] = 0
    """Calls until the fault, which strikes once."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length = 0
        return self._answer("reset", [self._observation(), self._info()])

    def step(self, action):
        self.length += 1
        reward = float(sum(action))
        answer = [self._observation(), reward, False, self.length == 10, self._info()]
        return self._answer("step", answer)

    def _answer(self, call, answer):
        Switches.left -= 1
        if Switches.fault is not None and Switches.left == 0:
            return Switches.fault(call, answer)
        return tuple(answer)

    def _observation(self):
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def _info(self):
        mask = np.ones(MASK_LENGTH, bool)
        mask[2 + self.length % 3] = False
        return {"action_mask": mask}


def strike(fault, left):
    """Sets the fault of the next call but so many; None is no fault."""
    Switches.fault, Switches.left = fault, left


gymnasium.register("Switches-v0", "tests.chaos.envs:Switches")
