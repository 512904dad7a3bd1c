"""One shape for all environments: flat observations, and an action of one integer per vertex."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation
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
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        actions: ActionMap,
        constraints: Any = (),
        no_action: NoAction = "stop",
    ) -> None:
        self.env = env = MaskInInfo.of(env)
        self.actions = actions
        self.masks = MaskReader(actions, constraints_of(env, actions, constraints), no_action)
        self.sizes = actions.sizes
        name = env.spec.id if env.spec else type(env.unwrapped).__name__
        # Stored: every wrapper looks it up in the one below.
        self._observation_space = env.observation_space
        self.observation_shape = flat_shape(env.observation_space, name)
        self.observation_dtype = flat_dtype(env.observation_space)
        self.frames = frames_in(env)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], Any]:
        """Starts an episode; the observation, and the mask as the environment gave it."""
        observation, info = self.env.reset(seed=seed)
        report_unused(info, self._observation_space)
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

    def flatten(self, observation: Any) -> NDArray[Any]:
        """An observation as the environment gives it, ready for a network."""
        return flattened(self._observation_space, observation)

    def _checked(self, observation: Any) -> NDArray[Any]:
        try:
            flat = self.flatten(observation)
        except Exception as error:
            raise EnvironmentFaultError(
                f"the environment returned an observation outside its space "
                f"{self._observation_space}: {error}"
            ) from error
        check_observation(flat, self.observation_shape)
        return flat


def flat_shape(space: spaces.Space[Any], name: str) -> tuple[int, ...]:
    """The shape of the flattened observations of a space; a `Box` stays as it is."""
    try:
        shape = space.shape if isinstance(space, spaces.Box) else (spaces.flatdim(space),)
    except (NotImplementedError, ValueError):
        raise ValueError(
            f"{name} has the observation space {space}; Box of any shape works, and Dict and Tuple "
            f"of spaces that Gymnasium can flatten"
        ) from None
    return tuple(shape)


def flat_dtype(space: spaces.Space[Any]) -> type[np.generic]:
    """What the numbers of flattened observations are: bytes stay bytes, all else are floats."""
    return np.uint8 if isinstance(space, spaces.Box) and space.dtype == np.uint8 else np.float32


def flattened(space: spaces.Space[Any], observation: Any) -> NDArray[Any]:
    """An observation of a space as an array of floats, or of bytes."""
    if not isinstance(space, spaces.Box):
        observation = spaces.flatten(space, observation)
    if np.iscomplexobj(observation):
        raise TypeError("its numbers are complex")
    # A copy: environments may write the next observation into the same array.
    return np.array(observation, flat_dtype(space))


def frames_in(env: gymnasium.Env[Any, Any]) -> int:
    """How many frames an observation is a stack of; 0 if it is not an image of bytes."""
    space, inner = env.observation_space, env
    if flat_dtype(space) is not np.uint8 or len(space.shape or ()) < 3:
        return 0
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, FrameStackObservation) and inner.observation_space == space:
            return int(space.shape[0])  # type: ignore[index]
        inner = inner.env
    return 1
