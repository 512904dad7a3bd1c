"""Which replay fits an environment, and how much memory it takes."""

from __future__ import annotations

import math
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


def replay_bytes(size: int, observed: Observed, action_length: int) -> int:
    """The memory that such a replay takes when it is full, masks aside."""
    observation = (
        math.prod(observed.observation_shape) * np.dtype(observed.observation_dtype).itemsize
    )
    others = action_length * np.dtype(np.int32).itemsize + 2 * np.dtype(np.float32).itemsize
    if not observed.frames:
        return size * (2 * observation + others)
    numbers = 2 * observed.frames * np.dtype(np.int64).itemsize
    return (size + 1) * (observation // observed.frames) + size * (numbers + others)
