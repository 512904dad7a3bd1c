"""One shape for all environments: flat observations, and an action of one integer per vertex."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hyperaction.environments import physical
from hyperaction.environments.actions import ActionMap, action_map, continuous
from hyperaction.environments.faults import (
    EnvironmentFaultError,
    Guard,
    Guarded,
    blamed,
    check_observation,
    checked_reward,
)


class Step(NamedTuple):
    """What an environment answered."""

    observation: NDArray[np.float32]
    reward: float
    terminated: bool
    truncated: bool
    mask: NDArray[np.bool_] | None


class Factored:
    """An environment whose actions are one sub-action per vertex."""

    def __init__(self, env: gymnasium.Env[Any, Any], actions: ActionMap) -> None:
        self.env = env
        self.actions = actions
        self.sizes = actions.sizes
        name = env.spec.id if env.spec else type(env.unwrapped).__name__
        # Kept: wrappers look it up one after the other.
        self._observation_space = env.observation_space
        self.observation_shape = flat_shape(env.observation_space, name)

    def reset(
        self, seed: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed)
        return self._checked(observation), _mask(info)

    def step(self, action: NDArray[np.int32]) -> Step:
        """Takes one joint action."""
        observation, reward, terminated, truncated, info = self.env.step(self.actions(action))
        return Step(
            self._checked(observation),
            checked_reward(reward),
            bool(terminated),
            bool(truncated),
            _mask(info),
        )

    def close(self) -> None:
        """Frees what the environment holds."""
        self.env.close()

    def flatten(self, observation: Any) -> NDArray[np.float32]:
        """An observation as the environment gives it, ready for a network."""
        return flattened(self._observation_space, observation)

    def _checked(self, observation: Any) -> NDArray[np.float32]:
        try:
            flat = self.flatten(observation)
        except Exception as error:
            raise EnvironmentFaultError(
                f"the environment gave an observation that is not of its space "
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


def flattened(space: spaces.Space[Any], observation: Any) -> NDArray[np.float32]:
    """An observation of a space as an array of floats."""
    if not isinstance(space, spaces.Box):
        observation = spaces.flatten(space, observation)
    # A copy: environments may write the next observation into the same array.
    return np.array(observation, np.float32)


def _mask(info: dict[str, Any]) -> NDArray[np.bool_] | None:
    mask = info.get("action_mask")
    return None if mask is None else np.array(mask, bool)


def make(
    name: str,
    *,
    bins: Sequence[int] = (5,),
    action_shape: Sequence[int] = (),
    real_actions: bool = False,
    max_episode_steps: int = 0,
    guard: Guard | None = None,
) -> Factored:
    """The environment of that id (or `module:Id`), its actions factored.

    Args:
        name: A Gymnasium id.
        bins: Sub-actions per dimension of a `Box` action space: one number, or one per dimension.
        action_shape: The sizes that a `Discrete` action space is the product of.
        real_actions: Leave a `Box` action space as it is, scaled to go from -1 to 1.
        max_episode_steps: The time limit; 0 is the environment's own.
        guard: What surrounds its calls; with one, its exceptions are told as faults.
    """
    env = make_env(name, max_episode_steps, guard)
    space = env.action_space
    actions = continuous(space) if real_actions else action_map(space, bins, action_shape)
    return Factored(env, actions)


def make_env(
    name: str,
    max_episode_steps: int = 0,
    guard: Guard | None = None,
    render_mode: str | None = None,
) -> gymnasium.Env[Any, Any]:
    """The environment of that id, or an error that says what was meant."""
    if guard is None:
        return _made(name, max_episode_steps, render_mode)
    with guard("making"):
        return Guarded(_made(name, max_episode_steps, render_mode), guard)


def _made(name: str, max_episode_steps: int, render_mode: str | None) -> gymnasium.Env[Any, Any]:
    if physical.is_physical(name):
        physical.register(name)
    try:
        rendering: dict[str, Any] = {"render_mode": render_mode} if render_mode else {}
        env = gymnasium.make(name, max_episode_steps=max_episode_steps or None, **rendering)
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(f"environment {name}: {error}".replace("\n", " ")) from None
    except gymnasium.error.Error as error:
        near = difflib.get_close_matches(name, gymnasium.registry, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"no environment {name}{hint} ({error})".replace("\n", " ")) from None
    except ModuleNotFoundError as error:
        raise ValueError(f"environment {name}: {error}") from None
    except BaseException as error:
        raise blamed(error, "making") from error
    return physical.QuietStart(env) if physical.is_physical(name) else env
