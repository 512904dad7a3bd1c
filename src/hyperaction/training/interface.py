"""What an agent takes and gives: observations, masks and actions in the form environments have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from hyperaction.constraints import Constraints, Mask, NoAction
from hyperaction.envs.action_maps import ActionMap, stacked, sub_actions, unstacked
from hyperaction.envs.factoring import fits
from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.envs.masks import KEY, MaskReader, without_mask
from hyperaction.envs.names import from_env
from hyperaction.envs.observations import Observations, as_batch
from hyperaction.envs.vector import Environments, Single, Vector
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph

RawEnv = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]


@dataclass(frozen=True)
class Interface:
    """How environments are seen by an agent.

    Args:
        observations: How observations become arrays; None for an agent of an earlier version's
            file, which takes arrays only.
        observation_shape: The shape of those arrays.
        actions: How actions are factored.
        constraints: What is allowed in every state.
        no_action: What to do where a mask leaves no action.
    """

    observations: Observations | None
    observation_shape: tuple[int, ...]
    actions: ActionMap
    constraints: Constraints
    no_action: NoAction = "stop"

    @classmethod
    def of(cls, env: Environments, no_action: NoAction = "stop") -> Interface:
        """How an agent sees the environments that it is made for."""
        shape = env.observation_shape
        return cls(env.observations, shape, env.actions, env.constraints, no_action)

    def environments(self, env: RawEnv) -> Environments:
        """An environment, or a vector of them, as the agent sees it; others are refused."""
        envs = environments(env, self.actions, self.constraints, self.no_action)
        if not self._observes(envs):
            envs = environments(env, self.actions, self.constraints, self.no_action, plain=True)
        self._check(envs, action_space(env))
        self._check_names(env)
        return envs

    def _check_names(self, env: RawEnv) -> None:
        """Refuses the same names in another order: masks by name would be of other vertices."""
        ours = self.actions.names
        theirs = from_env(env, len(ours), has_joints=False)
        if theirs and theirs != ours and set(theirs) == set(ours):
            raise ValueError(
                f"the agent's vertices are {', '.join(ours)}, and the environment has them in the "
                f"order {', '.join(theirs)}"
            )

    def _observes(self, env: Environments) -> bool:
        """Whether observations are encoded as the agent takes them."""
        ours = self.observations
        return ours is not None and ours.described() == env.observations.described()

    def _check(self, env: Environments, space: gymnasium.Space[Any]) -> None:
        """Refuses an environment that the agent was not made for."""
        if env.observation_shape != self.observation_shape:
            raise ValueError(
                f"the agent takes observations of shape {self.observation_shape}, the environment "
                f"gives {env.observation_shape}"
            )
        ours, theirs = self.observations, env.observations
        both_boxes = ours is None or (ours.is_box and theirs.is_box)
        if not both_boxes and not self._observes(env):
            raise ValueError(f"the agent takes observations of {ours}, the environment of {theirs}")
        if not fits(self.actions, space):
            raise ValueError(f"the agent's actions are not those of the environment, {space}")

    def read(self, observation: Any, mask: Any) -> tuple[NDArray[Any], Mask | None, bool]:
        """One observation or several as an array of several, their masks, and whether it was one.

        Args:
            observation: As an environment gives it, with or without a mask in it; or several.
            mask: What is allowed, in any form that environments give it; for several, one each.
        """
        observation, mask = self._without_mask(observation, mask)
        batch, single = self.read_observations(observation)
        if mask is None and not all(self.actions.sizes):  # Actions are real numbers.
            return batch, None, single
        if mask is not None and not single and not isinstance(mask, dict):
            given = list(mask) if np.iterable(mask) else [mask]
            if len(given) != len(batch):
                raise SettingError(f"`mask` has {len(given)} rows for {len(batch)} observations")
        else:
            given = [mask] * len(batch)
        try:
            masks = MaskReader(self.actions, self.constraints, self.no_action).begin(given)
        except EnvironmentFaultError as error:
            message = str(error).replace("the environment gave the action_mask", "`mask`")
            raise SettingError(message) from None
        return batch, masks, single

    def read_observations(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """One observation or several as an array of several, and whether it was one."""
        observation, _ = self._without_mask(observation, None)
        try:
            if self.observations is None:
                batch, single = as_batch(observation, self.observation_shape)
            else:
                batch, single = self.observations.read(observation)
        except ValueError as error:
            raise SettingError(f"`observation`: {error}") from None
        if batch.dtype != np.uint8 and not np.isfinite(batch).all():
            where = tuple(int(axis) for axis in np.argwhere(~np.isfinite(batch))[0])
            shown = list(where[1:] if single else where)
            raise SettingError(f"`observation` is {batch[where]} at {shown}; it must be finite")
        return batch, single

    def read_actions(self, action: Any, rows: int, *, single: bool) -> NDArray[np.int32]:
        """Actions as one sub-action per vertex, a row for each of so many observations.

        Args:
            action: Integers, `[vertices]` or `[rows, vertices]`; or as the environment takes them.
            rows: How many observations there are.
            single: Whether there is one observation, and not a batch of one.
        """
        if _are_sub_actions(action, len(self.actions.sizes)):
            found = np.atleast_2d(np.asarray(action))
        else:
            several = [action] if single else unstacked(action)
            found = np.array([sub_actions(self.actions, each) for each in several])
        Hypergraph.of_orders(self.actions.sizes, [1]).indices(found)  # Raises for what is none.
        if len(found) != rows:
            raise SettingError(f"`action` has {len(found)} rows for {rows} observations")
        return found.astype(np.int32)

    def _without_mask(self, observation: Any, mask: Any) -> tuple[Any, Any]:
        """Observations without a mask that environments may give within them, and that mask."""
        if self.observations is None or self.observations.has_part(KEY):
            return observation, mask
        if isinstance(observation, Mapping) and KEY in observation:
            others, own = without_mask(observation)
            return others, own if mask is None else mask
        if isinstance(observation, list | tuple) and any(
            isinstance(one, Mapping) and KEY in one for one in observation
        ):
            pairs = [self._without_mask(one, None) for one in observation]
            masks = [own for _, own in pairs]
            return [others for others, _ in pairs], masks if mask is None else mask
        return observation, mask

    def env_actions(self, chosen: NDArray[Any], *, single: bool) -> Any:
        """Actions of the agent as the environment takes them."""
        actions = [self.actions(action) for action in chosen]
        return actions[0] if single else stacked(actions)

    def no_env_actions(self, dtype: type[np.generic]) -> Any:
        """As many as an empty batch of observations needs."""
        any_action = np.zeros((1, len(self.actions.sizes)), dtype)
        batch = self.env_actions(any_action, single=False)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:0], batch)


def _are_sub_actions(action: Any, num_vertices: int) -> bool:
    """Whether these are integers, one per vertex, of one action or of several."""
    try:
        array = np.asarray(action)
    except ValueError:
        return False
    is_row = array.ndim in (1, 2) and array.shape[-1] == num_vertices
    return is_row and array.dtype.kind in "iu"


def action_space(env: RawEnv) -> gymnasium.Space[Any]:
    """The action space of one environment."""
    return env.single_action_space if isinstance(env, VectorEnv) else env.action_space


def environments(
    env: RawEnv,
    actions: ActionMap,
    constraints: Any = (),
    no_action: NoAction = "stop",
    *,
    plain: bool = False,
) -> Environments:
    """One environment or a vector of them, as the trainer sees it."""
    if isinstance(env, VectorEnv):
        return Vector(env, actions, constraints=constraints, no_action=no_action, plain=plain)
    return Single(Factored(env, actions, constraints, no_action, plain=plain))
