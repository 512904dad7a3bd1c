"""What an agent does without learning: actions for observations, and their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.config import AgentConfig
from hyperaction.agents.presets import AgentName
from hyperaction.constraints import Mask
from hyperaction.training.compiled import Compiled, FlatState, check_actions
from hyperaction.training.interface import Interface


class Policy(ABC):
    """Acts as an agent does that has learned something."""

    name: ClassVar[AgentName]
    config: AgentConfig
    interface: Interface
    """How environments are seen by the agent."""

    @property
    @abstractmethod
    def agent(self) -> Any:
        """The agent's functions."""

    @property
    @abstractmethod
    def compiled(self) -> Compiled:
        """The agent's functions, compiled."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """All that the agent has learned, one pytree."""

    @property
    @abstractmethod
    def step(self) -> int:
        """Environment steps that the agent has learned from."""

    @property
    @abstractmethod
    def _flat_state(self) -> FlatState: ...

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        mask: Any = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, as Stable-Baselines3's agents give it.

        Args:
            observation: As the environment gives it, or a batch of such, as in `act`.
            state: Passed through; agents here have no recurrent state.
            episode_start: Not used, for the same reason.
            deterministic: The greedy action; otherwise one that the agent would explore with.
            mask: What is allowed, as in `act`.

        Returns:
            The action, and the state.
        """
        if deterministic:
            return self.act(observation, mask), state
        batch, masks, single = self.interface.read(observation, mask)
        if not len(batch):
            return self.interface.no_env_actions(self.agent.action_dtype), state
        explorer = self.agent.explorer(len(batch), np.random.default_rng())
        chosen = explorer.explore(
            self.step, masks, lambda: self._computed(batch, masks, explorer.inputs(self.step))
        )
        check_actions(chosen, self.agent, masks)
        return self.interface.env_actions(chosen, single=single), state

    def q_value(self, observation: Any, action: Any) -> NDArray[np.float32]:
        """The value of an action; for a batch, of each observation's.

        Args:
            observation: As the environment gives it.
            action: Integers, one sub-action per vertex, `[vertices]` or one row for each
                observation; or actions as the environment takes them, such as a `Dict`.
        """
        if self.config.continuous:
            raise ValueError(f"{self.name} values real actions; q_value is for sub-actions")
        batch, single = self.interface.read_observations(observation)
        rows = self.interface.read_actions(action, len(batch), single=single)
        values = np.asarray(_values(self.agent.acting(self.state), batch, rows.astype(np.int32)))
        return values[0] if single else values

    def act(self, observation: Any, mask: Any = None) -> Any:
        """The greedy action, as the environment takes it; for a batch of observations, each one's.

        Args:
            observation: As the environment gives it; or a batch: a list of such, an array, or the
                `Dict` and `Tuple` of arrays that Gymnasium's vector environments give.
            mask: What is allowed, in any form that an environment may give it; for a batch, one
                for each observation.
        """
        batch, masks, single = self.interface.read(observation, mask)
        if not len(batch):
            return self.interface.no_env_actions(self.agent.action_dtype)
        chosen = check_actions(self._computed(batch, masks), self.agent, masks)
        return self.interface.env_actions(chosen, single=single)

    def _computed(
        self, batch: NDArray[Any], masks: Mask | None, inputs: Any = None
    ) -> NDArray[Any]:
        """The network's actions: greedy, or what the exploration computes from its inputs."""
        return np.asarray(self.compiled.act(self._flat_state, batch, masks, inputs))


@jax.jit
def _values(network: Any, observations: Any, actions: Any) -> Any:
    return jax.vmap(network)(observations, actions)
