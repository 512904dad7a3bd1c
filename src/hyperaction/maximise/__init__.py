"""The greedy joint action: what maximises Q(s, a) over all actions, found the cheapest way."""

from hyperaction.maximise.interface import Maximiser
from hyperaction.maximise.planner import maximiser

__all__ = ["Maximiser", "maximiser"]
