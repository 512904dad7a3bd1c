"""An environment that breaks its promises in the way that the variable FAULT names.

One that is slow always is. The others break them in the 30th step of the second phase: of the
fourth that is made, after one to look at, one for the first phase and one for its evaluation.
"""

import ctypes
import os
import shutil
import signal
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Faulty(gymnasium.Env):
    """Two switches; a step is worth what is switched on."""

    observation_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = spaces.MultiDiscrete([2, 2])
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    made = 0

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        Faulty.made += 1
        self.left = 30 if Faulty.made == 4 else -1
        if os.environ.get("FAULT") == "making":
            raise KeyError("no simulator")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if os.environ.get("FAULT") == "reset":
            raise KeyError("no simulator")
        self.length = 0
        return self._observation(), {}

    def step(self, action):
        self.length += 1
        self.left -= 1
        if os.environ.get("FAULT") == "slow":
            time.sleep(0.002)
        fault = os.environ.get("FAULT") if self.left == 0 else None
        observation, reward = self._observation(), float(sum(action))
        if fault == "raises":
            raise ZeroDivisionError("gravity is zero\nand more")
        if fault == "shape":
            observation = observation[:2]
        if fault == "nan":
            observation[1] = np.nan
        if fault == "reward":
            reward = float("inf")
        if fault == "hangs":
            time.sleep(1000)
        if fault == "hangs in C":  # Which signals do not wake.
            lock = ctypes.create_string_buffer(64)
            ctypes.PyDLL(None).pthread_mutex_lock(lock)
            ctypes.PyDLL(None).pthread_mutex_lock(lock)
        if fault == "exits":
            raise SystemExit(0)
        if fault == "no reward":
            reward = None
        if fault == "four values":
            return observation, reward, False, {}
        if fault == "markup":
            raise RuntimeError("bad [/red] tag \x1b[2J" + "!" * 1000)
        if fault == "hangs up":
            signal.raise_signal(signal.SIGHUP)
        if fault == "removes":
            shutil.rmtree(os.environ["OUT"])
        if fault == "dies":
            os._exit(11)
        return observation, reward, False, self.length == 10, {}

    def render(self):
        return np.full((60, 80, 3), 100 + self.length, np.uint8)

    def _observation(self):
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)


gymnasium.register("Faulty-v0", "tests.faulty:Faulty")
