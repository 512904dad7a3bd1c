"""Boltzmann exploration: joint actions drawn by their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hyperaction.agents.exploration.base import AbstractExploration, Actions, Explorer
from hyperaction.agents.parts import check
from hyperaction.agents.schedules import Linear, at, check_range
from hyperaction.errors import SettingError


@dataclass(frozen=True)
class Boltzmann(AbstractExploration):
    """Joint actions with probability proportional to exp(Q / temperature), drawn exactly.

    Random until learning starts; evaluations are greedy.
    """

    needs_soft_values: ClassVar[bool] = True

    temperature: float | Linear = 0.1
    """In units of Q, or a schedule of it over the steps since learning started; 0 is greedy."""

    def __post_init__(self) -> None:
        check(self)
        check_range("temperature", self.temperature, at_least=0.0)

    def temperature_at(self, explorer: Explorer) -> float:
        """The temperature at the explorer's step."""
        return float(at(self.temperature, explorer.steps_learned))

    def inputs(self, explorer: Explorer) -> dict[str, Any]:
        """Every environment's seed and temperature."""
        count = explorer.num_envs
        return {
            "seed": explorer.rng.integers(2**32, size=count, dtype=np.uint32),
            "temperature": np.full(count, self.temperature_at(explorer), np.float32),
        }

    def act(self, network: Any, observation: Any, mask: Any, inputs: Any) -> Any:
        """A joint action, drawn."""
        import jax

        key = jax.random.key(inputs["seed"])
        return network.sample(observation, inputs["temperature"], key, mask=mask)

    def explore(self, explorer: Explorer) -> Actions:
        """Drawn actions to learn from."""
        if explorer.step < explorer.learning_starts:
            return explorer.random_actions()
        return explorer.greedy()

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """The temperature; an objective may have another."""
        return {"exploration_temperature": self.temperature_at(explorer)}

    def check_network(self, network: Any) -> None:
        """Refuses networks whose joint actions cannot be drawn exactly."""
        best = getattr(network, "maximiser", None)
        if best is None:
            raise SettingError(
                "`exploration` boltzmann draws joint actions by hyperedges' values, which this "
                "agent has none of; choose another"
            )
        if best.softens:
            return
        if not best.mixer.affine:
            raise SettingError(
                "`exploration` boltzmann needs a `mixer` that is a weighted sum, such as sum, mean "
                "or monotonic-linear, where joint actions are this many; or choose epsilon-greedy"
            )
        raise SettingError(
            "`exploration` boltzmann cannot draw from so many overlapping hyperedges exactly; "
            "choose a lower `rank`, fewer `edges`, or epsilon-greedy"
        )
