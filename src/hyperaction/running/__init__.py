"""Runs: prepared, trained, watched, and played."""

from hyperaction.running.playing import play
from hyperaction.running.prepared import FailedError, Prepared, StoppedError
from hyperaction.running.watchdog import Watchdog

__all__ = ["FailedError", "Prepared", "StoppedError", "Watchdog", "play"]
