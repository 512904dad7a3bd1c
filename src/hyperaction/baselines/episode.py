"""One episode of a policy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hyperaction.envs.vector import Environments, Single
from hyperaction.training.episodes import Episode

Policy = Callable[[Environments], NDArray[np.int32]]
"""Gives a joint action, `[1, vertices]`, for what the environment shows now."""


def play(env: Single, policy: Policy) -> Episode:
    """Plays from where the environment is to the end of the episode."""
    total, length = 0.0, 0
    while True:
        result = env.step(policy(env))
        total, length = total + float(result.reward[0]), length + 1
        if result.terminated[0] or result.truncated[0]:
            return Episode(total, length)
