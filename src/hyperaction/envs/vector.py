"""Vector environments as the trainer sees them: one environment is a vector of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from hyperaction.constraints import Constraints, Mask, NoAction
from hyperaction.envs.action_maps import ActionMap, stacked
from hyperaction.envs.atari import episode_start, is_game, restore_episode_start
from hyperaction.envs.guard import (
    Guard,
    check_observation,
    checked_reward,
    unguarded,
)
from hyperaction.envs.masks import (
    MaskReader,
    VectorAskedForMasks,
    VectorMaskInInfo,
    constraints_of,
    masks_of,
    report_unused,
)
from hyperaction.envs.observations import Observations
from hyperaction.envs.statistics import Statistics, load_statistics, merged, statistics_of
from hyperaction.envs.wrapper import Factored

Masks = Mask | None


class Steps(NamedTuple):
    """What a step gave; `is_transition` is false where an environment only began a new episode."""

    observation: NDArray[Any]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    mask: Masks
    is_transition: NDArray[np.bool_]


class Environments(Protocol):
    """Environments that reset themselves; `observation` and `mask` are what to act on."""

    num_envs: int
    actions: ActionMap
    observations: Observations
    """How observations become arrays."""
    observation_shape: tuple[int, ...]
    observation_dtype: type[np.generic]
    frames: int
    """How many frames an observation is a stack of; 0 if it is not an image of bytes."""
    observation: NDArray[Any]
    mask: Masks
    constraints: Constraints
    """What is allowed in every state."""
    has_limit: bool
    """Whether episodes are known to end."""
    episode_start: NDArray[np.uint8] | None
    """The environment's state at the start of the episode, if it can be saved."""

    def reset(self, seed: int | None = None) -> None:
        """Starts all episodes."""
        ...

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes one action in each; gives the true next observation, also where an episode ends."""
        ...

    def statistics(self) -> list[Statistics]:
        """What the wrappers of each environment know, or those of all."""
        ...

    def load_statistics(self, statistics: Sequence[Statistics]) -> None:
        """Gives the wrappers what `statistics` gave; one for all if there is one."""
        ...

    def close(self) -> None:
        """Frees what the environments hold."""
        ...


class Single:
    """One environment."""

    def __init__(self, env: Factored) -> None:
        self.env = env
        self.num_envs = 1
        self.actions, self.constraints = env.actions, env.masks.always
        self.observations, self.observation_shape = env.observations, env.observation_shape
        self.observation_dtype, self.frames = env.observation_dtype, env.frames
        self._is_transition = np.ones(1, bool)
        spec = env.env.spec
        limited = spec is not None and spec.max_episode_steps is not None
        self.has_limit = limited or is_game(env.env)

    def reset(self, seed: int | None = None) -> None:
        """Starts an episode."""
        observation, mask = self.env.reset(seed)
        self.observation = observation[None]
        self.mask = self.env.masks.begin([mask])
        self.episode_start = episode_start(self.env.env, observation)

    def restore_episode(self, episode_start: NDArray[np.uint8]) -> None:
        """Goes back to the start of an earlier episode."""
        self.observation = restore_episode_start(self.env.env, episode_start)[None]
        self.episode_start = episode_start

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes the action; resets at the end of an episode."""
        result = self.env.step(actions[0])
        observation = result.observation[None]
        mask = self.env.masks.read([result.mask])
        if result.terminated or result.truncated:
            start, start_mask = self.env.reset()
            self.observation, self.mask = start[None], self.env.masks.read([start_mask])
            self.episode_start = episode_start(self.env.env, start)
        else:
            self.observation, self.mask = observation, mask
        return Steps(
            observation,
            np.array([result.reward]),
            np.array([result.terminated]),
            np.array([result.truncated]),
            mask,
            self._is_transition,
        )

    def statistics(self) -> list[Statistics]:
        """What the wrappers know."""
        return [statistics_of(self.env.env)]

    def load_statistics(self, statistics: Sequence[Statistics]) -> None:
        """Gives the wrappers what `statistics` gave."""
        load_statistics(self.env.env, merged(statistics))

    def close(self) -> None:
        """Frees what the environment holds."""
        self.env.close()


class Vector:
    """A Gymnasium vector environment, whichever way it resets."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        actions: ActionMap,
        frames: int | None = None,
        guard: Guard = unguarded,
        constraints: Any = (),
        no_action: NoAction = "stop",
        *,
        plain: bool = False,
    ) -> None:
        self.env = env = VectorAskedForMasks.of(VectorMaskInInfo.of(env))
        self.constraints = constraints_of(env, actions, constraints)
        self._masks = MaskReader(actions, self.constraints, no_action)
        self._guard = guard
        space = env.single_observation_space
        self.observations = Observations.of(space, str(env), plain=plain)
        self.observation_shape = self.observations.shape
        self.observation_dtype = self.observations.dtype
        self.frames = self.observations.frames_in() if frames is None else frames
        self.episode_start: NDArray[np.uint8] | None = None
        self.num_envs = int(env.num_envs)
        self.actions = actions
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._ended = np.zeros(self.num_envs, bool)
        self.has_limit = False

    def reset(self, seed: int | None = None) -> None:
        """Starts all episodes."""
        with self._guard("reset"):
            observation, info = self.env.reset(seed=seed)
        report_unused(info, self.env.single_observation_space)
        self._ended[:] = False
        self.observation = self._flat(observation)
        self.mask = self._masks.begin(masks_of(info, self.num_envs))

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes one action in each."""
        chosen = stacked([self.actions(action) for action in actions])
        with self._guard("step"):
            raw, reward, terminated, truncated, info = self.env.step(chosen)
        observation, mask = self._flat(raw), self._read(info)
        checked_reward(np.sum(reward))
        ended = np.asarray(terminated | truncated)
        is_transition = np.ones(self.num_envs, bool)
        self.observation, self.mask = observation, mask
        if self._mode is AutoresetMode.NEXT_STEP:
            # The step after an end takes no action: it gives the first observation of an episode.
            is_transition, self._ended = ~self._ended, ended
            self.mask = _where(ended, None, mask)
        elif ended.any() and self._mode is AutoresetMode.SAME_STEP:
            observation = self._finals(info, ended)
            mask = _where(ended, self._read(info.get("final_info", {})), mask)
        elif ended.any():
            fresh, fresh_info = self.env.reset(options={"reset_mask": ended})
            self.observation = self._flat(fresh)
            self.mask = _where(ended, self._read(fresh_info), mask)
        reward = np.asarray(reward, float)
        return Steps(observation, reward, terminated, truncated, mask, is_transition)

    def statistics(self) -> list[Statistics]:
        """What the wrappers of each environment know, or those of all."""
        return [statistics_of(env) for env in self._with_wrappers()]

    def load_statistics(self, statistics: Sequence[Statistics]) -> None:
        """Gives the wrappers what `statistics` gave; one for all if there is one."""
        envs = self._with_wrappers()
        each = statistics if len(statistics) == len(envs) else [merged(statistics)] * len(envs)
        for env, known in zip(envs, each, strict=True):
            load_statistics(env, known)

    def _with_wrappers(self) -> list[Any]:
        """The vector, or where it has no statistics itself, its environments if they are here."""
        if statistics_of(self.env):
            return [self.env]
        return list(getattr(self.env.unwrapped, "envs", ())) or [self.env]

    def close(self) -> None:
        """Frees what the environments hold."""
        self.env.close()

    def _finals(self, info: dict[str, Any], ended: NDArray[np.bool_]) -> NDArray[Any]:
        """The final observations of ended episodes, and the current ones of the others."""
        observation = self.observation.copy()
        for index in np.flatnonzero(ended):
            observation[index] = self.observations(info["final_obs"][index])
        return observation

    def _flat(self, observation: Any) -> NDArray[Any]:
        flat = self.observations.batch(observation, self.num_envs)
        check_observation(flat, (self.num_envs, *self.observation_shape))
        return flat

    def _read(self, info: dict[str, Any]) -> Masks:
        return self._masks.read(masks_of(info, self.num_envs))


def _where(chosen: NDArray[np.bool_], masks: Masks, otherwise: Masks) -> Masks:
    """The chosen environments' masks, or all that is allowed, and the others'."""
    if otherwise is None or otherwise.rows is None:
        return otherwise
    rows = np.True_ if masks is None else masks.rows
    return Mask(np.where(chosen[:, None], rows, otherwise.rows), otherwise.constraints)
