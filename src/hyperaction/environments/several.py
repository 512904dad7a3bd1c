"""Environments side by side, as the training loop sees them: one is several too."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from hyperaction.environments.actions import ActionMap
from hyperaction.environments.atari import begin_again, episode_start, is_game
from hyperaction.environments.factored import Factored, flat_dtype, flat_shape, flattened
from hyperaction.environments.faults import (
    EnvironmentFaultError,
    Guard,
    check_observation,
    checked_reward,
    unguarded,
)

Masks = NDArray[np.bool_] | None


class Steps(NamedTuple):
    """What the environments answered; `real` is false where one only began a new episode."""

    observation: NDArray[Any]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    mask: Masks
    real: NDArray[np.bool_]


class Environments(Protocol):
    """Environments that begin anew by themselves; `observation` and `mask` are what to act on."""

    count: int
    actions: ActionMap
    observation_shape: tuple[int, ...]
    observation_dtype: type[np.generic]
    frames: int
    """How many frames an observation is a stack of; none if it is no image of bytes."""
    observation: NDArray[Any]
    mask: Masks
    has_limit: bool
    """Whether episodes are known to end."""
    episode_start: NDArray[np.uint8] | None
    """What brings the environment back to where its episode began, if it can be had."""

    def reset(self, seed: int | None = None) -> None:
        """Starts all episodes."""
        ...

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes one action in each; what it gives is the true next observation, also at an end."""
        ...

    def flatten(self, observation: Any) -> NDArray[Any]:
        """One observation as the environment gives it, ready for a network."""
        ...

    def is_raw(self, observation: Any) -> bool:
        """Whether this is one observation of a space that has to be flattened."""
        ...

    def close(self) -> None:
        """Frees what the environments hold."""
        ...


class Single:
    """One environment."""

    def __init__(self, env: Factored) -> None:
        self.env = env
        self.count = 1
        self.actions = env.actions
        self.observation_shape = env.observation_shape
        self.observation_dtype, self.frames = env.observation_dtype, env.frames
        self._real = np.ones(1, bool)
        spec = env.env.spec
        limited = spec is not None and spec.max_episode_steps is not None
        self.has_limit = limited or is_game(env.env)

    def reset(self, seed: int | None = None) -> None:
        """Starts an episode."""
        observation, mask = self.env.reset(seed)
        self.observation = observation[None]
        self.mask = None if mask is None else mask[None]
        self.episode_start = episode_start(self.env.env, observation)

    def back_to(self, episode_start: NDArray[np.uint8]) -> None:
        """Begins an episode that had begun before."""
        self.observation = begin_again(self.env.env, episode_start)[None]
        self.episode_start = episode_start

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes the action; begins anew at an end."""
        found = self.env.step(actions[0])
        observation = found.observation[None]
        mask = self._masks(found.mask)
        if found.terminated or found.truncated:
            start, start_mask = self.env.reset()
            self.observation, self.mask = start[None], self._masks(start_mask)
            self.episode_start = episode_start(self.env.env, start)
        else:
            self.observation, self.mask = observation, mask
        return Steps(
            observation,
            np.array([found.reward]),
            np.array([found.terminated]),
            np.array([found.truncated]),
            mask,
            self._real,
        )

    def flatten(self, observation: Any) -> NDArray[Any]:
        """One observation as the environment gives it, ready for a network."""
        return self.env.flatten(observation)

    def is_raw(self, observation: Any) -> bool:
        """Whether this is one observation of a space that has to be flattened."""
        return _is_raw(self.env.env.observation_space, observation)

    def close(self) -> None:
        """Frees what the environment holds."""
        self.env.close()

    def _masks(self, mask: NDArray[np.bool_] | None) -> Masks:
        if self.mask is None:
            _no_late_mask(mask)
            return None
        return np.ones_like(self.mask) if mask is None else mask[None]


class Vector:
    """A Gymnasium vector environment, whichever way it begins anew."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        actions: ActionMap,
        frames: int | None = None,
        guard: Guard = unguarded,
    ) -> None:
        self.env = env
        self._guard = guard
        space = env.single_observation_space
        self.observation_dtype = flat_dtype(space)
        is_image = self.observation_dtype is np.uint8 and len(space.shape or ()) >= 3
        self.frames = int(is_image) if frames is None else frames
        self.episode_start: NDArray[np.uint8] | None = None
        self.count = int(env.num_envs)
        self.actions = actions
        self.observation_shape = flat_shape(space, str(env))
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._ended = np.zeros(self.count, bool)
        self.has_limit = False

    def reset(self, seed: int | None = None) -> None:
        """Starts all episodes."""
        with self._guard("reset"):
            observation, info = self.env.reset(seed=seed)
        self._ended[:] = False
        self.mask = None
        self.observation = self._flat(observation)
        if "action_mask" in info:
            first = np.asarray(info["action_mask"][0], bool)
            self.mask = np.ones((self.count, len(first)), bool)
            self.mask = self._masks(info)

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes one action in each."""
        chosen = np.stack([self.actions(action) for action in actions])
        with self._guard("step"):
            raw, reward, terminated, truncated, info = self.env.step(chosen)
        observation, mask = self._flat(raw), self._masks(info)
        checked_reward(np.sum(reward))
        ended = np.asarray(terminated | truncated)
        real = np.ones(self.count, bool)
        self.observation, self.mask = observation, mask
        if self._mode is AutoresetMode.NEXT_STEP:
            # The step after an end takes no action: it gives the first observation of an episode.
            real, self._ended = ~self._ended, ended
            self.mask = _where(ended, None if mask is None else np.ones_like(mask), mask)
        elif ended.any() and self._mode is AutoresetMode.SAME_STEP:
            observation = self._finals(info, ended)
            mask = _where(ended, self._masks(info.get("final_info", {})), mask)
        elif ended.any():
            fresh, fresh_info = self.env.reset(options={"reset_mask": ended})
            self.observation = self._flat(fresh)
            self.mask = _where(ended, self._masks(fresh_info), mask)
        return Steps(observation, np.asarray(reward, float), terminated, truncated, mask, real)

    def flatten(self, observation: Any) -> NDArray[Any]:
        """One observation as an environment gives it, ready for a network."""
        return flattened(self.env.single_observation_space, observation)

    def is_raw(self, observation: Any) -> bool:
        """Whether this is one observation of a space that has to be flattened."""
        return _is_raw(self.env.single_observation_space, observation)

    def close(self) -> None:
        """Frees what the environments hold."""
        self.env.close()

    def _finals(self, info: dict[str, Any], ended: NDArray[np.bool_]) -> NDArray[Any]:
        """The observations that ended episodes, among those that go on."""
        observation = self.observation.copy()
        for place in np.flatnonzero(ended):
            observation[place] = self.flatten(info["final_obs"][place])
        return observation

    def _flat(self, observation: Any) -> NDArray[Any]:
        if isinstance(self.env.single_observation_space, spaces.Box):
            # A copy: vector environments may write the next observation into the same array.
            flat = np.array(observation, self.observation_dtype)
        else:
            each = iterate(self.env.observation_space, observation)
            flat = np.stack([self.flatten(one) for one in each])
        check_observation(flat, (self.count, *self.observation_shape))
        return flat

    def _masks(self, info: dict[str, Any]) -> Masks:
        given = info.get("action_mask")
        if self.mask is None:
            _no_late_mask(given)
            return None
        if given is None:
            return np.ones_like(self.mask)
        there = info.get("_action_mask", np.ones(self.count, bool))
        masks = np.ones_like(self.mask)
        for place in np.flatnonzero(there):
            masks[place] = given[place]
        return masks


def _is_raw(space: spaces.Space[Any], observation: Any) -> bool:
    return not isinstance(space, spaces.Box) and space.contains(observation)


def _where(places: NDArray[np.bool_], masks: Masks, otherwise: Masks) -> Masks:
    if masks is None or otherwise is None:
        return None
    return np.where(places[:, None], masks, otherwise)


def _no_late_mask(mask: Any) -> None:
    if mask is not None:
        raise EnvironmentFaultError(
            "an action_mask came from step but none from reset; give it in both"
        )
