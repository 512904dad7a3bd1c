"""Arguments of agents: environments in any form, counts, and where they came from."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from hyperaction.agents.presets import PresetName
from hyperaction.api.settings import Settings
from hyperaction.envs.make import make_env
from hyperaction.errors import SettingError, unknown
from hyperaction.training.interface import RawEnv

AnyEnv = str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]

ARGUMENTS = (
    "env", "rank", "preset", "seed", "bins", "action_shape", "action_names", "constraints",
    "no_action",
)  # fmt: skip
"""What agents take besides their settings."""


def check_env(env: Any) -> None:
    """Refuses what is no environment."""
    if isinstance(env, str | gymnasium.Env | VectorEnv):
        return
    if isinstance(env, type):
        raise SettingError(
            f"`env` must be an environment, not the class {env.__name__}; did you mean "
            f"{env.__name__}()?"
        )
    raise SettingError(
        f"`env` must be a Gymnasium environment, a vector of them, or an id, not {env!r}"
    )


def made(env: AnyEnv) -> RawEnv:
    """The environment that is given, made if it is an id."""
    check_env(env)
    return make_env(env) if isinstance(env, str) else env


def id_of(env: AnyEnv) -> str:
    """The id of an environment; empty if it has none."""
    if isinstance(env, str):
        return env
    return "" if env.spec is None else env.spec.id


def plain_id(env: AnyEnv) -> str:
    """The id that makes such an environment; empty where others were made with more than an id."""
    if isinstance(env, str):
        return env
    if isinstance(env, VectorEnv) or env.spec is None:
        return ""
    spec, registered = env.spec, gymnasium.registry.get(env.spec.id)
    if registered is None or spec.additional_wrappers:
        return ""
    kwargs = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    is_plain = kwargs == registered.kwargs and (
        spec.max_episode_steps == registered.max_episode_steps
    )
    return spec.id if is_plain else ""


def count(name: str, value: Any, least: int = 1) -> int:
    """An argument that counts something."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise SettingError(f"`{name}` must be a whole number, at least {least}, not {value!r}")
    return int(value)


def texts(constraints: Any) -> tuple[str, ...] | None:
    """Constraints that were given as text, as the command line has them; None for others."""
    several = constraints if isinstance(constraints, list | tuple) else [constraints]
    return tuple(several) if all(isinstance(each, str) for each in several) else None


def check_names(settings: Mapping[str, Any]) -> None:
    """Refuses settings that look like an argument, with its name; others are checked later."""
    known = [*ARGUMENTS, *Settings.__annotations__]
    for name in settings:
        similar = difflib.get_close_matches(name, known, n=1)
        if name not in known and similar and similar[0] in ARGUMENTS:
            raise SettingError(unknown("setting", name, similar))


class Origin(NamedTuple):
    """What an agent and its environment were made from, for the settings of a run."""

    env: AnyEnv
    preset: PresetName
    bins: tuple[int | str, ...] = (5,)
    action_shape: tuple[int, ...] = ()
    action_names: tuple[str, ...] = ()
    constraints: tuple[str, ...] | None = None
    """As text; None where the agent's own say what they are."""

    @property
    def env_name(self) -> str:
        """The id of the environment, or else what it is."""
        if plain := plain_id(self.env):
            return plain
        assert not isinstance(self.env, str)
        return id_of(self.env) or type(self.env.unwrapped).__name__

    @property
    def is_object(self) -> bool:
        """Whether no id says how to make the environment."""
        return not plain_id(self.env)
