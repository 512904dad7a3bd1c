"""The greedy joint action: what maximises Q(s, a) over all actions, found the cheapest way."""

from hyperaction.maximise.cost import Budget
from hyperaction.maximise.hard import Bounded
from hyperaction.maximise.k_best import Best
from hyperaction.maximise.planner import WAYS, maximiser
from hyperaction.maximise.random import allowed_action, random_actions
from hyperaction.maximise.soft import Maximiser

__all__ = [
    "WAYS",
    "Best",
    "Bounded",
    "Budget",
    "Maximiser",
    "allowed_action",
    "maximiser",
    "random_actions",
]
