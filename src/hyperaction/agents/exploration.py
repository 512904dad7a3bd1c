"""Exploration: what an agent does besides its best.

An exploration is a frozen dataclass that chooses actions for several environments at once. What it
remembers from step to step is in the explorer's `memory`, a dictionary of arrays that is saved with
a run. To add one, write the class here and register it, or pass an object of your own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.parts import check
from hyperaction.agents.schedules import Linear, at
from hyperaction.errors import SettingError

Masks = NDArray[np.bool_] | None
Actions = NDArray[Any]
Greedy = Callable[[], Actions]
"""Gives the greedy actions of all environments; computed when they are asked for."""


class AbstractExploration:
    """Chooses actions for several environments at once, from what the explorer knows."""

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """What is remembered from step to step, at the start."""
        return {}

    @abstractmethod
    def explore(self, explorer: Explorer) -> Actions:
        """Actions to learn from."""

    def evaluate(self, explorer: Explorer) -> Actions:
        """Actions for evaluations: the greedy ones."""
        return explorer.greedy()

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """An episode begins in one of the environments."""

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """What to log about exploration."""
        return {}


def _nothing() -> Actions:
    raise RuntimeError("greedy actions are known during a step only")


@dataclass
class Explorer:
    """An exploration at work: what it knows, and what it remembers."""

    exploration: AbstractExploration
    num_envs: int
    action_length: int
    """Numbers in an action."""
    learning_starts: int
    """The step at which learning starts."""
    draw_random: Callable[[np.random.Generator, int, Masks], Actions]
    """Draws so many actions, evenly from all that the masks allow."""
    rng: np.random.Generator
    step: int = 0
    masks: Masks = None
    greedy: Greedy = _nothing
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory = self.exploration.init(self)

    def explore(self, step: int, masks: Masks, greedy: Greedy) -> Actions:
        """Actions to learn from."""
        self.step, self.masks, self.greedy = step, masks, greedy
        return self.exploration.explore(self)

    def evaluate(self, masks: Masks, greedy: Greedy) -> Actions:
        """Actions for evaluations."""
        self.masks, self.greedy = masks, greedy
        return self.exploration.evaluate(self)

    def random_actions(self) -> Actions:
        """An action for every environment, drawn evenly from all that are allowed."""
        return self.draw_random(self.rng, self.num_envs, self.masks)

    def begin_episode(self, env_index: int) -> None:
        """An episode begins in one of the environments."""
        self.exploration.begin_episode(self, env_index)

    def metrics(self, step: int) -> dict[str, float]:
        """What to log about exploration at a step."""
        self.step = step
        return self.exploration.metrics(self)

    def state_dict(self) -> dict[str, Any]:
        """The random generator, and what the exploration remembers."""
        return {"rng": self.rng.bit_generator.state, "memory": dict(self.memory)}

    def state_like(self) -> dict[str, Any]:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`."""
        return self.state_dict() | {"rng": dict}  # NumPy checks it.

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave."""
        self.rng.bit_generator.state = state["rng"]
        self.memory = {name: np.array(array) for name, array in state["memory"].items()}


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

    def __post_init__(self) -> None:
        check(self, at_least={"decay_steps": 1})
        for name in ("final", "evaluation"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingError(f"`{name}` must be from 0 to 1, not {getattr(self, name)}")

    def epsilon_at(self, explorer: Explorer) -> float:
        """The probability of a random action at the explorer's step."""
        schedule = self.epsilon or Linear(1.0, self.final, self.decay_steps)
        return float(at(schedule, explorer.step - explorer.learning_starts))

    def explore(self, explorer: Explorer) -> Actions:
        """Random and greedy actions to learn from."""
        return self._choose(explorer, self.epsilon_at(explorer))

    def evaluate(self, explorer: Explorer) -> Actions:
        """Almost greedy actions."""
        return self._choose(explorer, self.evaluation)

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """Epsilon."""
        return {"epsilon": self.epsilon_at(explorer)}

    def _choose(self, explorer: Explorer, epsilon: float) -> Actions:
        exploring = explorer.rng.random(explorer.num_envs) < epsilon
        if not exploring.any():
            return explorer.greedy()
        if exploring.all():
            return explorer.random_actions()
        return np.where(exploring[:, None], explorer.random_actions(), explorer.greedy())


@dataclass(frozen=True)
class OrnsteinUhlenbeck(AbstractExploration):
    """Noise on real actions that wanders from step to step; random until learning starts."""

    scale: float = 0.2
    """The noise's scale, where actions go from -1 to 1."""
    pull: float = 0.15
    """How strongly the noise is pulled back to zero at every step; 1 draws it independently."""

    def __post_init__(self) -> None:
        check(self)
        if self.scale <= 0:
            raise SettingError(f"`scale` must be above 0, not {self.scale}")

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """The noise of every environment."""
        return {"noise": np.zeros((explorer.num_envs, explorer.action_length), np.float32)}

    def explore(self, explorer: Explorer) -> Actions:
        """The policy's actions with noise."""
        if explorer.step < explorer.learning_starts:
            return explorer.random_actions()
        noise = explorer.memory["noise"]
        drawn = self.scale * explorer.rng.normal(size=noise.shape)
        noise = ((1.0 - self.pull) * noise + drawn).astype(np.float32)
        explorer.memory["noise"] = noise
        return np.clip(explorer.greedy() + noise, -1.0, 1.0)

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """The noise starts at zero again."""
        explorer.memory["noise"][env_index] = 0.0


@dataclass(frozen=True)
class Gaussian(OrnsteinUhlenbeck):
    """Noise on real actions that is drawn independently at every step."""

    pull: float = field(default=1.0, init=False, repr=False)


EXPLORATIONS: dict[str, type[Any]] = {"epsilon-greedy": EpsilonGreedy}
NOISES: dict[str, type[Any]] = {"ou": OrnsteinUhlenbeck, "gaussian": Gaussian}
