"""One shape for all environments: flat observations, and an action of one integer per vertex."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hyperaction.constraints import NoAction
from hyperaction.envs.action_maps import ActionMap
from hyperaction.envs.guard import (
    EnvironmentFaultError,
    check_observation,
    checked_flag,
    checked_reward,
)
from hyperaction.envs.masks import MaskInInfo, MaskReader, constraints_of, report_unused
from hyperaction.envs.observations import Observations


class Step(NamedTuple):
    """The result of a step."""

    observation: NDArray[Any]
    reward: float
    terminated: bool
    truncated: bool
    mask: Any
    """As the environment gave it."""


class Factored:
    """An environment whose actions are one sub-action per vertex.

    Args:
        env: The environment.
        actions: How its actions are factored.
        constraints: What is allowed in every state, besides what the environment says.
        no_action: What to do where a mask leaves no action.
        plain: Whether observations are as agents of earlier versions take them.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        actions: ActionMap,
        constraints: Any = (),
        no_action: NoAction = "stop",
        *,
        plain: bool = False,
    ) -> None:
        self.env = env = MaskInInfo.of(env)
        self.actions, self.plain = actions, plain
        self.masks = MaskReader(actions, constraints_of(env, actions, constraints), no_action)
        self.sizes = actions.sizes
        name = env.spec.id if env.spec else type(env.unwrapped).__name__
        self.observations = Observations.of(env.observation_space, name, plain=plain)
        self.observation_shape = self.observations.shape
        self.observation_dtype = self.observations.dtype
        self.frames = self.observations.frames_in(env)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], Any]:
        """Starts an episode; the observation, and the mask as the environment gave it."""
        observation, info = self.env.reset(seed=seed)
        report_unused(info, self.env.observation_space)
        return self._checked(observation), info.get("action_mask")

    def step(self, action: NDArray[np.int32]) -> Step:
        """Takes one joint action."""
        observation, reward, terminated, truncated, info = self.env.step(self.actions(action))
        return Step(
            self._checked(observation),
            checked_reward(reward),
            checked_flag("terminated", terminated),
            checked_flag("truncated", truncated),
            info.get("action_mask"),
        )

    def close(self) -> None:
        """Frees what the environment holds."""
        self.env.close()

    def _checked(self, observation: Any) -> NDArray[Any]:
        try:
            flat = self.observations(observation)
        except Exception as error:
            raise EnvironmentFaultError(
                f"the environment returned an observation outside its space "
                f"{self.env.observation_space}: {error}"
            ) from error
        check_observation(flat, self.observation_shape)
        return flat
