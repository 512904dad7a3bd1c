"""Training: the compiled agent, everything that changes, its judge, and the loop."""

from hyperaction.training.evaluation import Evaluation
from hyperaction.training.learning import DivergedError, Episode, Phase, Training
from hyperaction.training.loop import Callback, is_complete, train
from hyperaction.training.programs import Agent, Flat, Programs, allowed

__all__ = [
    "Agent",
    "Callback",
    "DivergedError",
    "Episode",
    "Evaluation",
    "Flat",
    "Phase",
    "Programs",
    "Training",
    "allowed",
    "is_complete",
    "train",
]
