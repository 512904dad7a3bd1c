"""Epsilon-greedy: random actions with some probability, in all vertices at once or in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hyperaction.agents.exploration.base import AbstractExploration, Actions, Explorer
from hyperaction.agents.parts import added, check
from hyperaction.agents.schedules import Linear, at
from hyperaction.errors import SettingError


@dataclass(frozen=True)
class EpsilonGreedy(AbstractExploration):
    """Random actions with probability epsilon, which is 1 until learning starts and then falls."""

    final: float = 0.05
    """Epsilon in the end."""
    decay_steps: int = 50_000
    """Steps over which epsilon falls linearly from 1, after learning starts."""
    evaluation: float = 0.001
    """Epsilon in evaluations."""
    epsilon: Linear | None = None
    """A schedule of epsilon over the steps since learning started, instead of the two above."""
    per_vertex: bool = added(False)
    """Each vertex explores by itself with probability epsilon, instead of all at once."""

    def __post_init__(self) -> None:
        check(self, at_least={"decay_steps": 1})
        for name in ("final", "evaluation"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingError(f"`{name}` must be from 0 to 1, not {getattr(self, name)}")

    def epsilon_at(self, explorer: Explorer) -> float:
        """The probability of a random action at the explorer's step."""
        schedule = self.epsilon or Linear(1.0, self.final, self.decay_steps)
        return float(at(schedule, explorer.steps_learned))

    def explore(self, explorer: Explorer) -> Actions:
        """Random and greedy actions to learn from."""
        return self._choose(explorer, self.epsilon_at(explorer))

    def evaluate(self, explorer: Explorer) -> Actions:
        """Almost greedy actions."""
        return self._choose(explorer, self.evaluation)

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """Epsilon."""
        return {"epsilon": self.epsilon_at(explorer)}

    def shape(self, explorer: Explorer) -> tuple[int, int]:
        """What decides whether to explore: each environment, or each of its vertices."""
        return explorer.num_envs, explorer.action_length if self.per_vertex else 1

    def _choose(self, explorer: Explorer, epsilon: float) -> Actions:
        exploring = explorer.rng.random(self.shape(explorer)) < epsilon
        if not exploring.any():
            return explorer.greedy()
        if exploring.all():
            return explorer.random_actions()
        if self.per_vertex:
            return explorer.redraw(explorer.greedy(), exploring)
        return np.where(exploring, explorer.random_actions(), explorer.greedy())
