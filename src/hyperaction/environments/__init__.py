"""Gymnasium environments in, factored actions out."""

from hyperaction.environments.factored import Factored, make, make_env
from hyperaction.environments.several import Environments, Single, Steps, Vector
from hyperaction.environments.side_by_side import make_several

__all__ = [
    "Environments",
    "Factored",
    "Single",
    "Steps",
    "Vector",
    "make",
    "make_env",
    "make_several",
]
