"""Exploration where critics disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.exploration.base import AbstractExploration, Actions, Explorer
from hyperaction.agents.parts import check
from hyperaction.agents.schedules import Linear, at, check_range
from hyperaction.errors import SettingError


@dataclass(frozen=True)
class Disagreement(AbstractExploration):
    """Acts by an upper bound of what the critics hold possible, or by one critic per episode.

    Random until learning starts; evaluations are greedy. Needs several critics.
    """

    by: Literal["bound", "critic"] = "bound"
    """The best joint action where every entry of the hyperedges' tables is the critics' mean plus
    a bonus (no joint action's spread is more than the sum of its entries'), or that of one critic
    that is drawn for every episode (Osband et al., 2016)."""
    bonus: float | Linear = 1.0
    """The bonus in standard deviations of the critics, or a schedule of it over the steps since
    learning started."""

    def __post_init__(self) -> None:
        check(self)
        check_range("bonus", self.bonus, at_least=0.0)

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """A number from which every environment's critic follows."""
        return {"critic": explorer.rng.integers(2**31, size=explorer.num_envs)}

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """Another critic."""
        explorer.memory["critic"][env_index] = explorer.rng.integers(2**31)

    def inputs(self, explorer: Explorer) -> dict[str, Any]:
        """Every environment's critic, and the bonus."""
        bonus = np.full(explorer.num_envs, self._bonus_at(explorer), np.float32)
        return {"critic": explorer.memory["critic"].astype(np.uint32), "bonus": bonus}

    def act(self, network: Any, observation: Any, mask: Any, inputs: Any) -> Any:
        """The best joint action by the bound, or by one critic."""
        outputs = network.critics_outputs(observation)
        if self.by == "critic":
            chosen = outputs[inputs["critic"] % len(outputs)]
        else:
            chosen = outputs.mean(axis=0) + inputs["bonus"] * outputs.std(axis=0)
        return network.maximiser.argmax(chosen, mask=mask)

    def explore(self, explorer: Explorer) -> Actions:
        """Actions to learn from."""
        if explorer.step < explorer.learning_starts:
            return explorer.random_actions()
        return explorer.greedy()

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """The bonus, where there is one."""
        return {"bonus": self._bonus_at(explorer)} if self.by == "bound" else {}

    def check_network(self, network: Any) -> None:
        """Refuses networks of one critic."""
        if not hasattr(network, "critics_outputs"):
            raise SettingError("`exploration` disagreement needs `critics` of at least 2")

    def _bonus_at(self, explorer: Explorer) -> float:
        return float(at(self.bonus, explorer.steps_learned))
