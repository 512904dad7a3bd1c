"""The greedy joint action: what maximises Q(s, a) over all actions, found the cheapest way."""

from hyperaction.maximise.base import Bounded, Maximiser
from hyperaction.maximise.masks import entry_mask
from hyperaction.maximise.planner import BUDGET, WAYS, maximiser
from hyperaction.maximise.random import random_actions

__all__ = ["BUDGET", "WAYS", "Bounded", "Maximiser", "entry_mask", "maximiser", "random_actions"]
