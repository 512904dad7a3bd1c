"""Exploration by the policy that the objective learns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hyperaction.agents.exploration.base import Explorer
from hyperaction.agents.exploration.boltzmann import Boltzmann


@dataclass(frozen=True)
class Policy(Boltzmann):
    """Joint actions from the Boltzmann distribution at the temperature of the objective.

    Random until learning starts; evaluations are greedy. For soft Q-learning, whose temperature may
    adjust itself.
    """

    of_objective: ClassVar[bool] = True
    temperature: float = field(default=1.0, init=False, repr=False)

    def inputs(self, explorer: Explorer) -> dict[str, Any]:
        """Every environment's seed; the agent adds the temperature."""
        seeds = explorer.rng.integers(2**32, size=explorer.num_envs, dtype=np.uint32)
        return {"seed": seeds}

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """The objective logs its temperature."""
        return {}
