"""Exploration: what an agent does besides its best.

To add one, write its class in a file here and register it below, or pass an object of your own.
"""

from typing import Any

from hyperaction.agents.exploration.base import AbstractActions as AbstractActions
from hyperaction.agents.exploration.base import AbstractExploration as AbstractExploration
from hyperaction.agents.exploration.base import Actions as Actions
from hyperaction.agents.exploration.base import Explorer as Explorer
from hyperaction.agents.exploration.base import Masks as Masks
from hyperaction.agents.exploration.boltzmann import Boltzmann as Boltzmann
from hyperaction.agents.exploration.disagreement import Disagreement as Disagreement
from hyperaction.agents.exploration.epsilon import EpsilonGreedy as EpsilonGreedy
from hyperaction.agents.exploration.extended import Extended as Extended
from hyperaction.agents.exploration.ordinal import Ordinal as Ordinal
from hyperaction.agents.exploration.policy import Policy as Policy
from hyperaction.agents.exploration.real import Gaussian as Gaussian
from hyperaction.agents.exploration.real import OrnsteinUhlenbeck as OrnsteinUhlenbeck

EXPLORATIONS: dict[str, type[Any]] = {
    "epsilon-greedy": EpsilonGreedy,
    "extended": Extended,
    "ordinal": Ordinal,
    "boltzmann": Boltzmann,
    "disagreement": Disagreement,
    "policy": Policy,
}
NOISES: dict[str, type[Any]] = {"ou": OrnsteinUhlenbeck, "gaussian": Gaussian}
