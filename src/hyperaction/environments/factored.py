"""One shape for all environments: flat observations, and an action of one integer per vertex."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hyperaction.environments.actions import ActionMap, action_map


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
        space = env.observation_space
        self._flatten = not isinstance(space, spaces.Box)
        try:
            shape = (spaces.flatdim(space),) if self._flatten else space.shape
        except (NotImplementedError, ValueError):
            raise ValueError(_unfit(env, space)) from None
        assert shape is not None
        self.observation_shape = tuple(shape)

    def reset(
        self, seed: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed)
        return self._observation(observation), _mask(info)

    def step(self, action: NDArray[np.int32]) -> Step:
        """Takes one joint action."""
        observation, reward, terminated, truncated, info = self.env.step(self.actions(action))
        return Step(
            self._observation(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            _mask(info),
        )

    def close(self) -> None:
        """Frees what the environment holds."""
        self.env.close()

    def _observation(self, observation: Any) -> NDArray[np.float32]:
        if self._flatten:
            observation = spaces.flatten(self.env.observation_space, observation)
        return np.asarray(observation, np.float32)


def _mask(info: dict[str, Any]) -> NDArray[np.bool_] | None:
    mask = info.get("action_mask")
    return None if mask is None else np.asarray(mask, bool)


PHYSICAL = "pybullet_envs_gymnasium"


def make(name: str, *, bins: Sequence[int] = (5,), action_shape: Sequence[int] = ()) -> Factored:
    """The environment of that id (or `module:Id`), its actions factored.

    Args:
        name: A Gymnasium id.
        bins: Sub-actions per dimension of a `Box` action space: one number, or one per dimension.
        action_shape: The sizes that a `Discrete` action space is the product of.
    """
    if "Bullet" in name and ":" not in name:
        if find_spec(PHYSICAL) is None:
            raise ValueError(f"{name} needs PyBullet: pip install 'hyperaction[physical]'")
        import_module(PHYSICAL)
    try:
        env = gymnasium.make(name)
    except gymnasium.error.Error as error:
        near = difflib.get_close_matches(name, gymnasium.registry, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"no environment {name}{hint} ({error})".replace("\n", " ")) from None
    except ModuleNotFoundError as error:
        raise ValueError(f"environment {name}: {error}") from None
    return Factored(env, action_map(env.action_space, bins=bins, shape=action_shape))


def _unfit(env: gymnasium.Env[Any, Any], space: spaces.Space[Any]) -> str:
    name = env.spec.id if env.spec else type(env.unwrapped).__name__
    return (
        f"{name} has the observation space {space}; Box of any shape works, and Dict and Tuple of "
        f"spaces that Gymnasium can flatten"
    )
