"""Action masks and constraints, as environments give them.

In `info["action_mask"]` or, in a `Dict`, in `observation["action_mask"]`, in any form that
`hyperaction.constraints.tables_of` takes; from a method `action_masks()`; and what holds in every
state from the attribute `action_constraints`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from hyperaction.constraints import Constraints, Mask, NoAction, Tables, tables_of
from hyperaction.envs.action_maps import ActionMap, Product
from hyperaction.envs.guard import EnvironmentFaultError, short
from hyperaction.errors import SettingError, unknown

KEY = "action_mask"

LIKE_A_MASK = re.compile(
    r"(?:(?:action|legal|valid|invalid|avail|available|allowed|possible)s?_?)"
    r"(?:mask|masks|action|actions|move|moves)|masks?",
    re.IGNORECASE,
)
"""What other libraries call masks."""


def report_unused(info: dict[str, Any], space: spaces.Space[Any]) -> None:
    """Warns of what looks like a mask, where there is none in the place that masks are read from.

    Args:
        info: What the environment gave besides an observation.
        space: The space of its observations.
    """
    if KEY in info:
        return
    observed = space.spaces if isinstance(space, spaces.Dict) else {}
    for where, names in (("info", info), ("observation", observed)):
        for name in names:
            if name != KEY and isinstance(name, str) and LIKE_A_MASK.fullmatch(name):
                warnings.warn(
                    f"the environment's {where} has '{name}', which looks like an action mask and "
                    f"is not used as one: masks are read from info['{KEY}'] or "
                    f"observation['{KEY}']",
                    stacklevel=2,
                )


class MaskReader:
    """Reads the masks of several environments that are alike.

    Args:
        actions: Their factored actions.
        always: What is allowed in every state.
        no_action: What to do where a mask leaves no action.
    """

    def __init__(
        self, actions: ActionMap, always: Constraints | None = None, no_action: NoAction = "stop"
    ) -> None:
        self.sizes, self.names = actions.sizes, actions.names
        self._is_discrete = isinstance(actions, Product)
        self.always = Constraints(self.sizes) if always is None else always
        if no_action not in get_args(NoAction):
            raise SettingError(f"`no_action`: {unknown('choice', no_action, get_args(NoAction))}")
        self.no_action = no_action
        self._begun: tuple[Constraints, bool] = (self.always, False)

    def begin(self, given: Sequence[Any]) -> Mask | None:
        """The masks that all episodes begin with; later ones must be about the same vertices."""
        if not all(self.sizes) and any(one is not None for one in given):
            return Mask(np.ones((len(given), 1), bool), self.always)  # Which agents refuse.
        known = [tables for one in given if (tables := self._tables(one)) is not None]
        scopes = dict.fromkeys(scope for tables in known for scope in tables if len(scope) > 1)
        self._begun = replace(self.always, scopes=tuple(scopes)), bool(known)
        return self.read(given)

    def read(self, given: Sequence[Any]) -> Mask | None:
        """The masks of one state of each environment; where one gives none, all is allowed."""
        constraints, has_masks = self._begun
        if has_masks:
            return Mask(np.stack([self._row(one) for one in given]), constraints)
        if any(one is not None for one in given):
            raise EnvironmentFaultError(
                "the environment gave an action_mask, but none in its first reset; give it in "
                "every reset and step"
            )
        return Mask(None, constraints) if constraints.always else None

    def _row(self, given: Any) -> NDArray[np.bool_]:
        constraints, _ = self._begun
        tables = self._tables(given)
        if tables is None:
            return np.ones(constraints.num_entries, bool)
        for scope in tables:
            if scope not in constraints.starts:
                names = ", ".join(self.names[v] for v in scope)
                raise EnvironmentFaultError(
                    f"the environment gave an action_mask on ({names}), but none on these in its "
                    f"first reset; give it in every reset and step"
                )
        row = constraints.row(tables)
        if self.no_action != "stop" and not _leaves_action(Mask(row[None], constraints)):
            first: Tables = {}
            if self.no_action == "default":
                first = {(v,): np.arange(size) == 0 for v, size in enumerate(self.sizes)}
            return constraints.row(first)
        return row

    def _tables(self, given: Any) -> Tables | None:
        if given is None:
            return None
        try:
            return tables_of(given, self.sizes, self.names, is_discrete=self._is_discrete)
        except ValueError as error:
            raise EnvironmentFaultError(
                f"the environment gave the action_mask {short(given)}: {error}"
            ) from None


FEW = 10_000
"""Joint actions that are listed to see whether constraints leave any."""


def _leave_action(constraints: Constraints) -> bool:
    """Whether constraints that hold in every state leave a joint action."""
    listed = constraints.listed(FEW)
    return _leaves_action(Mask(None, constraints)) if listed is None else len(listed) > 0


def _leaves_action(mask: Mask) -> bool:
    import jax

    from hyperaction.maximise import allowed_action

    return bool((jax.jit(allowed_action)(mask) >= 0).all())


def constraints_of(env: Any, actions: ActionMap, given: Any = ()) -> Constraints:
    """What is allowed in every state: as the environment says, and as the user does."""
    own = _attribute(env, "action_constraints")
    if not all(actions.sizes):
        none = isinstance(given, list | tuple) and not given
        none = none or (isinstance(given, Constraints) and not given.always)
        if own or not none:
            raise SettingError("`constraints` are for agents of sub-actions, not of real numbers")
        return Constraints(actions.sizes)
    try:
        parts = [Constraints.of(actions.sizes, one, actions.names) for one in (own or (), given)]
    except ValueError as error:
        raise SettingError(f"`constraints`: {error}") from None
    constraints = replace(
        parts[0],
        fixed=tuple(dict.fromkeys(parts[0].fixed + parts[1].fixed)),
        cardinalities=tuple(dict.fromkeys(parts[0].cardinalities + parts[1].cardinalities)),
    )
    if constraints.always and not _leave_action(constraints):
        raise SettingError("`constraints` leave no joint action: together they forbid all of them")
    return constraints


def _attribute(env: Any, name: str) -> Any:
    if isinstance(env, VectorEnv):
        several = getattr(env.unwrapped, "envs", None)  # Which AsyncVectorEnv has elsewhere.
        if hasattr(env.unwrapped, name) or not several:
            return getattr(env.unwrapped, name, None)
        return _attribute(several[0], name)
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None


class MaskInInfo(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose masks are in `info`, wherever it gives them."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._in_observation = _in_observation(env.observation_space)
        if self._in_observation:
            self.observation_space = _without_mask(env.observation_space)
        self._ask = _attribute(env, "action_masks")

    @classmethod
    def of(cls, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """The environment, wrapped where it gives masks otherwise."""
        asks = callable(_attribute(env, "action_masks"))
        return cls(env) if asks or _in_observation(env.observation_space) else env

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment does."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._moved(observation, info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment does."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        observation, info = self._moved(observation, info)
        return observation, reward, terminated, truncated, info

    def _moved(self, observation: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if self._in_observation:
            observation, mask = without_mask(observation)
        else:
            mask = np.asarray(self._ask())
        return observation, {KEY: mask} | info


class VectorAskedForMasks(VectorWrapper[Any, Any, Any]):
    """A vector of environments with a method `action_masks()`, their masks in `info`.

    Of an episode's last state, where the vector has begun the next one already, nothing is known.
    """

    @classmethod
    def of(cls, env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """The environments, wrapped where they have such a method."""
        several = getattr(env.unwrapped, "envs", None)
        if not several or isinstance(several[0], MaskInInfo):  # Which asks by itself.
            return env
        return cls(env) if callable(_attribute(several[0], "action_masks")) else env

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environments do."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {KEY: self._masks()} | info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As the environments do."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        return observation, reward, terminated, truncated, {KEY: self._masks()} | info

    def _masks(self) -> list[Any]:
        inner: Any = self.env.unwrapped
        return [np.asarray(one.get_wrapper_attr("action_masks")()) for one in inner.envs]


class VectorMaskInInfo(VectorWrapper[Any, Any, Any]):
    """A vector of environments whose masks, part of their observations, are in `info`."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.single_observation_space = _without_mask(env.single_observation_space)
        self.observation_space = _without_mask(env.observation_space)

    @classmethod
    def of(cls, env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """The environments, wrapped where their observations have masks."""
        return cls(env) if _in_observation(env.single_observation_space) else env

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environments do."""
        observation, info = self.env.reset(seed=seed, options=options)
        observation, masks = without_mask(observation)
        return observation, info | {KEY: masks}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As the environments do."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        observation, masks = without_mask(observation)
        info = info | {KEY: masks}
        if "final_obs" in info:
            pairs = [(None, None) if o is None else without_mask(o) for o in info["final_obs"]]
            finals = np.empty(len(pairs), object)
            finals[:] = [final for final, _ in pairs]
            info["final_obs"] = finals
            final_masks = {KEY: [mask for _, mask in pairs]}
            info["final_info"] = info.get("final_info", {}) | final_masks
        return observation, reward, terminated, truncated, info


def without_mask(observation: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """An observation that has a mask, and the mask."""
    others = {name: each for name, each in observation.items() if name != KEY}
    return others, observation[KEY]


def _in_observation(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Dict) and KEY in space.spaces and len(space.spaces) > 1


def _without_mask(space: Any) -> spaces.Dict:
    return spaces.Dict({name: each for name, each in space.spaces.items() if name != KEY})


def masks_of(info: dict[str, Any], count: int) -> list[Any]:
    """The mask of each of several environments, from their common info."""
    given = info.get(KEY)
    if given is None:
        return [None] * count
    is_given = info.get(f"_{KEY}", np.ones(count, bool))
    if isinstance(given, dict):  # Gymnasium makes one dictionary of several.
        tables = {name: each for name, each in given.items() if not str(name).startswith("_")}
        flags = {name: given.get(f"_{name}", is_given) for name in tables}
        return [
            {name: each[index] for name, each in tables.items() if flags[name][index]}
            if is_given[index]
            else None
            for index in range(count)
        ]
    return [given[index] if is_given[index] else None for index in range(count)]


def check_same_masks(before: Mask | None, now: Mask | None) -> None:
    """Refuses environments made again that give other masks than the first ones did."""
    same = (
        (before is None) == (now is None)
        if before is None or now is None
        else before.constraints == now.constraints and before.length == now.length
    )
    if not same:
        raise EnvironmentFaultError(
            "the environment gave other action masks in a later first reset than in its first; "
            "they must be about the same vertices"
        )
