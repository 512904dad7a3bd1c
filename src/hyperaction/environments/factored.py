"""One shape for all environments: flat observations, and an action of one integer per vertex."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation
from numpy.typing import NDArray

from hyperaction.environments import atari, physical
from hyperaction.environments.actions import ActionMap, action_map, continuous
from hyperaction.environments.cartridges import CartridgeError
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

    observation: NDArray[Any]
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
        self.observation_dtype = flat_dtype(env.observation_space)
        self.frames = frames_in(env)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
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

    def flatten(self, observation: Any) -> NDArray[Any]:
        """An observation as the environment gives it, ready for a network."""
        return flattened(self._observation_space, observation)

    def _checked(self, observation: Any) -> NDArray[Any]:
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


def flat_dtype(space: spaces.Space[Any]) -> type[np.generic]:
    """What the numbers of flattened observations are: bytes stay bytes, all else are floats."""
    return np.uint8 if isinstance(space, spaces.Box) and space.dtype == np.uint8 else np.float32


def flattened(space: spaces.Space[Any], observation: Any) -> NDArray[Any]:
    """An observation of a space as an array of floats, or of bytes."""
    if not isinstance(space, spaces.Box):
        observation = spaces.flatten(space, observation)
    # A copy: environments may write the next observation into the same array.
    return np.array(observation, flat_dtype(space))


def frames_in(env: gymnasium.Env[Any, Any]) -> int:
    """How many frames an observation is a stack of; none if it is no image of bytes."""
    space, inner = env.observation_space, env
    if flat_dtype(space) is not np.uint8 or len(space.shape or ()) < 3:
        return 0
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, FrameStackObservation) and inner.observation_space == space:
            return int(space.shape[0])  # type: ignore[index]
        inner = inner.env
    return 1


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
    roms: str = "",
    guard: Guard | None = None,
) -> Factored:
    """The environment of that id (or `module:Id`), its actions factored.

    Args:
        name: A Gymnasium id.
        bins: Sub-actions per dimension of a `Box` action space: one number, or one per dimension.
        action_shape: The sizes that a `Discrete` action space is the product of.
        real_actions: Leave a `Box` action space as it is, scaled to go from -1 to 1.
        max_episode_steps: The time limit; 0 is the environment's own.
        roms: A directory with cartridges of Atari games, instead of ale-py's.
        guard: What surrounds its calls; with one, its exceptions are told as faults.
    """
    env = make_env(name, max_episode_steps, guard, roms=roms)
    return Factored(
        env, actions_of(name, env.action_space, bins, action_shape, real_actions=real_actions)
    )


def actions_of(
    name: str,
    space: spaces.Space[Any],
    bins: Sequence[int] = (5,),
    action_shape: Sequence[int] = (),
    *,
    real_actions: bool = False,
) -> ActionMap:
    """How the action space of the environment of that id is factored."""
    if real_actions:
        return continuous(space)
    if atari.is_atari(name) and not action_shape:
        return atari.JOYSTICK
    return action_map(space, bins, action_shape)


def make_env(
    name: str,
    max_episode_steps: int = 0,
    guard: Guard | None = None,
    render_mode: str | None = None,
    roms: str = "",
) -> gymnasium.Env[Any, Any]:
    """The environment of that id, or an error that says what was meant."""
    if guard is None:
        return _made(name, max_episode_steps, render_mode, roms)
    with guard("making"):
        return Guarded(_made(name, max_episode_steps, render_mode, roms), guard)


def _made(
    name: str, max_episode_steps: int, render_mode: str | None, roms: str
) -> gymnasium.Env[Any, Any]:
    if physical.is_physical(name):
        physical.register(name)
    if atari.is_atari(name):
        atari.register(name)
    try:
        if atari.is_atari(name):
            return atari.make_game(name, max_episode_steps, render_mode, roms)
        rendering: dict[str, Any] = {"render_mode": render_mode} if render_mode else {}
        env = gymnasium.make(name, max_episode_steps=max_episode_steps or None, **rendering)
    except CartridgeError:
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(f"environment {name}: {error}".replace("\n", " ")) from None
    except gymnasium.error.Error as error:
        game = atari.same_game(name)
        near = [game] if game else difflib.get_close_matches(name, gymnasium.registry, n=1)
        hint = f"; did you mean {near[0]}?" if near else f" ({error})"
        raise ValueError(f"no environment {name}{hint}".replace("\n", " ")) from None
    except ModuleNotFoundError as error:
        raise ValueError(f"environment {name}: {error}") from None
    except BaseException as error:
        raise blamed(error, "making") from error
    return physical.QuietStart(env) if physical.is_physical(name) else env
