"""Transitions to learn from: rings of NumPy arrays, n-step returns and priorities."""

from hyperaction.replay.frames import FrameRing
from hyperaction.replay.making import make_replay, replay_bytes
from hyperaction.replay.n_step import NStep
from hyperaction.replay.prioritised import Priorities
from hyperaction.replay.ring import Batch, Ring, Stream, Transition

__all__ = [
    "Batch",
    "FrameRing",
    "NStep",
    "Priorities",
    "Ring",
    "Stream",
    "Transition",
    "make_replay",
    "replay_bytes",
]
