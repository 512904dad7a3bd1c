"""Stable-Baselines3's PPO and sb3-contrib's MaskablePPO, with the settings that they come with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from hyperaction.constraints import Constraints, Mask
from hyperaction.envs.vector import Environments, Single
from hyperaction.envs.wrapper import Factored

MAX_JOINT = 10_000
"""Up to so many joint actions, masks over several vertices are masks over joint actions."""


class Problem(gymnasium.Env[Any, Any]):
    """An environment as the other libraries take it: flat observations, `MultiDiscrete` actions.

    Args:
        env: The environment.
        joint: Whether an action is the number of a joint action instead.
    """

    def __init__(self, env: Factored, *, joint: bool) -> None:
        self._env, self._joint = Single(env), _listed(env.sizes) if joint else None
        self.observation_space = spaces.Box(-np.inf, np.inf, env.observation_shape, np.float32)
        self.action_space = (
            spaces.MultiDiscrete(list(env.sizes))
            if self._joint is None
            else spaces.Discrete(len(self._joint))
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts an episode; those after the first begin where the last one ended."""
        if seed is not None or not hasattr(self._env, "observation"):
            self._env.reset(seed)
        return self._env.observation[0].astype(np.float32), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Takes an action as it is, allowed or not."""
        result = self._env.step(self.rows(np.asarray(action)))
        flags = bool(result.terminated[0]), bool(result.truncated[0])
        return result.observation[0].astype(np.float32), float(result.reward[0]), *flags, {}

    def rows(self, action: NDArray[Any]) -> NDArray[np.int32]:
        """An action as one sub-action per vertex, `[1, vertices]`."""
        row = action if self._joint is None else self._joint[int(action)]
        return row.astype(np.int32)[None]

    def action_masks(self) -> NDArray[np.bool_]:
        """What is allowed now, as sb3-contrib asks for it."""
        return self.allowed(self._env.mask)

    def allowed(self, mask: Mask | None) -> NDArray[np.bool_]:
        """A mask as the action space has it: of joint actions, or of each vertex by itself."""
        sizes = self._env.env.sizes
        rows = None if mask is None else mask.rows
        if self._joint is None:
            return np.ones(sum(sizes), bool) if rows is None else rows[0, : sum(sizes)]
        if mask is None:
            return np.ones(len(self._joint), bool)
        rows = None if rows is None else np.broadcast_to(rows[0], (len(self._joint), rows.shape[1]))
        return mask.constraints.allows(self._joint, rows)

    def close(self) -> None:
        """Frees what the environment holds."""
        self._env.env.close()


class PPO:
    """Proximal policy optimisation without masks: actions go to the environment as they are.

    Args:
        make_env: Makes the environment.
        seed: Where the random numbers come from.
    """

    learns = True
    obeys_masks = False

    def __init__(self, make_env: Callable[[], Factored], seed: int) -> None:
        torch.set_num_threads(1)
        env = make_env()
        first = Single(env)
        first.reset(seed)
        joint = self.obeys_masks and _needs_joint(first.mask)
        self._problem = Problem(env, joint=joint)
        self._model = self._class()("MlpPolicy", self._problem, seed=seed, device="cpu")

    def _class(self) -> Any:
        return import_module("stable_baselines3").PPO

    def learn(self, steps: int) -> Iterator[int]:
        """Learns by whole rollouts; gives the steps after the update on each."""
        while self._model.num_timesteps < steps:
            self._model.learn(self._model.n_steps, reset_num_timesteps=False)
            yield int(self._model.num_timesteps)

    def __call__(self, env: Environments) -> NDArray[np.int32]:
        """The policy's most likely action."""
        observation = env.observation[0].astype(np.float32)
        more = {"action_masks": self._problem.allowed(env.mask)} if self.obeys_masks else {}
        action, _ = self._model.predict(observation, deterministic=True, **more)
        return self._problem.rows(np.asarray(action))


class MaskablePPO(PPO):
    """The same with masks; where they are over several vertices, its actions are joint actions."""

    obeys_masks = True

    def _class(self) -> Any:
        return import_module("sb3_contrib").MaskablePPO


def _needs_joint(mask: Mask | None) -> bool:
    """Whether a mask cannot be given for each vertex by itself."""
    if mask is None:
        return False
    constraints: Constraints = mask.constraints
    is_joint = bool(constraints.scopes or constraints.always)
    if is_joint and np.prod(np.array(constraints.sizes, float)) > MAX_JOINT:
        raise ValueError(
            f"maskable-ppo: constraints over several vertices need a list of all joint actions, "
            f"and there are more than {MAX_JOINT:,}"
        )
    return is_joint


def _listed(sizes: tuple[int, ...]) -> NDArray[np.int32]:
    """All joint actions, `[count, vertices]`."""
    return np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=-1).astype(np.int32)
