"""Runs: prepared, trained, watched, and played."""

from hyperaction.running.executing import execute
from hyperaction.running.playing import play
from hyperaction.running.prepared import FailedError, Prepared, StoppedError
from hyperaction.runs.progress import Progress

__all__ = ["FailedError", "Prepared", "Progress", "StoppedError", "execute", "play"]
