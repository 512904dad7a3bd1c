"""What an exploration is, and the explorer: an exploration at work.

An exploration is a frozen dataclass that chooses actions for several environments at once. What it
remembers from step to step is in the explorer's `memory`, a dictionary of arrays that is saved with
a run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperaction.constraints import Mask

Masks = Mask | None
Actions = NDArray[Any]
Greedy = Callable[[], Actions]
"""Gives the network's actions for all environments; computed when they are asked for."""


class AbstractExploration:
    """Chooses actions for several environments at once, from what the explorer knows."""

    ordinal: ClassVar[bool] = False
    """Whether it needs sub-actions that are evenly spaced numbers: those of a `Box` in bins."""

    of_objective: ClassVar[bool] = False
    needs_soft_values: ClassVar[bool] = False
    """Whether it draws from the Boltzmann distribution of joint actions."""
    """Whether its inputs get the temperature of the objective, which must have one."""

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """What is remembered from step to step, at the start; shapes must stay."""
        return {}

    @abstractmethod
    def explore(self, explorer: Explorer) -> Actions:
        """Actions to learn from."""

    def evaluate(self, explorer: Explorer) -> Actions:
        """Actions for evaluations: the greedy ones."""
        return explorer.greedy()

    def inputs(self, explorer: Explorer) -> Any:
        """What `act` takes at the explorer's step: arrays with a row for each environment.

        None, the default, leaves the network's actions greedy.
        """
        return None

    def evaluation_inputs(self, explorer: Explorer) -> Any:
        """The same for evaluations, whose actions are greedy unless there are inputs."""
        return None

    def act(self, network: Any, observation: Any, mask: Any, inputs: Any) -> Any:
        """The network's action in one state, in compiled code, where there are inputs.

        Args:
            network: The online network.
            observation: What is observed in one environment.
            mask: What is allowed there, if anything is not.
            inputs: That environment's rows of the inputs.
        """
        return network.greedy(observation, mask=mask)

    def check_network(self, network: Any) -> None:
        """Refuses a network that it cannot explore with; its arrays are shapes only."""

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """An episode begins in one of the environments."""

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """What to log about exploration."""
        return {}


class AbstractActions:
    """The actions of an agent, as an exploration draws and checks them."""

    length: int
    """Numbers in an action."""
    dtype: type[np.generic]
    """Their type."""
    sizes: tuple[int, ...] = ()
    """The number of sub-actions of each vertex; empty where actions are real numbers."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, masks: Masks) -> Actions:
        """So many actions, evenly from all that the masks allow."""

    def redraw(
        self, rng: np.random.Generator, actions: Actions, free: NDArray[np.bool_], masks: Masks
    ) -> Actions:
        """The actions with their free vertices drawn anew, from what is allowed with the others."""
        return np.where(free, self.draw(rng, len(actions), masks), actions)

    def allows(self, actions: Actions, masks: Masks) -> NDArray[np.bool_]:
        """Whether each action is allowed by its mask."""
        return np.ones(len(actions), bool)


def _nothing() -> Actions:
    raise RuntimeError("greedy actions are known during a step only")


@dataclass
class Explorer:
    """An exploration at work: what it knows, and what it remembers."""

    exploration: AbstractExploration
    num_envs: int
    actions: AbstractActions
    learning_starts: int
    """The step at which learning starts."""
    rng: np.random.Generator
    step: int = 0
    masks: Masks = None
    greedy: Greedy = _nothing
    """Gives the network's actions: greedy, or what `act` computes from the inputs."""
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory = self.exploration.init(self)

    @property
    def action_length(self) -> int:
        """Numbers in an action."""
        return self.actions.length

    @property
    def steps_learned(self) -> int:
        """Steps since learning started; below 0 before."""
        return self.step - self.learning_starts

    def explore(self, step: int, masks: Masks, greedy: Greedy) -> Actions:
        """Actions to learn from."""
        self.step, self.masks, self.greedy = step, masks, greedy
        return self.exploration.explore(self)

    def evaluate(self, masks: Masks, greedy: Greedy) -> Actions:
        """Actions for evaluations."""
        self.masks, self.greedy = masks, greedy
        return self.exploration.evaluate(self)

    def inputs(self, step: int) -> Any:
        """What the network's actions of a step are computed from, if they are not greedy."""
        self.step = step
        return self.exploration.inputs(self)

    def evaluation_inputs(self) -> Any:
        """The same for an evaluation's next step."""
        return self.exploration.evaluation_inputs(self)

    def random_actions(self) -> Actions:
        """An action for every environment, drawn evenly from all that are allowed."""
        return self.actions.draw(self.rng, self.num_envs, self.masks)

    def redraw(self, actions: Actions, free: NDArray[np.bool_]) -> Actions:
        """The actions with their free vertices drawn anew, from what is allowed with the others."""
        return self.actions.redraw(self.rng, actions, free, self.masks)

    def allows(self, actions: Actions) -> NDArray[np.bool_]:
        """Whether each environment allows its action."""
        return self.actions.allows(actions, self.masks)

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
