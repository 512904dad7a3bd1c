"""Which replay fits an environment."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hyperaction.replay.frames import FrameRing
from hyperaction.replay.ring import Ring


class Observed(Protocol):
    """An environment's observations."""

    observation_shape: tuple[int, ...]
    observation_dtype: type[np.generic]
    frames: int


def make_replay(
    size: int,
    observed: Observed,
    action_length: int,
    action_dtype: type[np.generic] = np.int32,
    mask_length: int | None = None,
) -> Ring | FrameRing:
    """Where transitions are kept: each frame once where observations are images of bytes."""
    action, shape = (action_length, action_dtype), observed.observation_shape
    if observed.frames:
        return FrameRing(size, shape, observed.frames, *action, mask_length)
    return Ring(size, shape, *action, mask_length, observed.observation_dtype)
