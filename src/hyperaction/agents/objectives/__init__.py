"""Objectives: what the online network learns from a transition.

To add one, write a frozen dataclass that is an `AbstractObjective` in a file here and register it,
or pass an object of your own.
"""

from typing import Any

from hyperaction.agents.objectives.base import AbstractObjective as AbstractObjective
from hyperaction.agents.objectives.base import Losses as Losses
from hyperaction.agents.objectives.branching import Branching as Branching
from hyperaction.agents.objectives.logarithmic import Logarithmic as Logarithmic
from hyperaction.agents.objectives.quantile import Quantile as Quantile
from hyperaction.agents.objectives.soft import Soft as Soft
from hyperaction.agents.objectives.td import TD as TD

OBJECTIVES: dict[str, type[Any]] = {
    "td": TD,
    "branching": Branching,
    "quantile": Quantile,
    "soft": Soft,
    "logarithmic": Logarithmic,
}
