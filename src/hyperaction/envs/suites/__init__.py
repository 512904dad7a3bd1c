"""Suites of environments by name, such as jumanji:BinPack-v2; read without importing any of them.

Each has an adapter, one file that turns its environments into Gymnasium's. An adapter has
`load(name, render_mode)`, and `load_vector(name, count, max_episode_steps)` if its environments
can be stepped in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hyperaction.errors import needs

if TYPE_CHECKING:
    import gymnasium
    from gymnasium.vector import VectorEnv


class SuiteError(ValueError):
    """A suite that is not installed, or an environment that it does not have."""


@dataclass(frozen=True)
class Suite:
    """A suite; its extra has the same name as the prefix of its ids.

    Args:
        example: An id without the prefix.
        packages: What its adapter imports.
        modules: The packages whose modules ids may name, if ids are names of modules; other
            modules are code of the user's.
        has_vector: Whether its adapter has `load_vector`.
        last_python: The last version of Python that its packages can be installed for, if later
            ones are too new.
    """

    example: str
    packages: tuple[str, ...]
    modules: tuple[str, ...] = ()
    has_vector: bool = False
    last_python: tuple[int, int] | None = None


SUITES = {
    "jumanji": Suite("BinPack-v2", ("jumanji",), has_vector=True),
    "rddl": Suite("MarsRover_ippc2023/1", ("pyRDDLGym", "rddlrepository")),
    "pettingzoo": Suite("mpe2.simple_spread_v3", ("pettingzoo",), ("mpe2", "pettingzoo")),
    "dmc": Suite("dog-walk", ("dm_control",), last_python=(3, 12)),
}
"""The suites, by the prefix of their ids; the adapter of each is the module of that name here."""


def split(name: str) -> tuple[str, str]:
    """The suite of an id and the rest of it; both empty for an id of no suite."""
    prefix, _, inner = name.partition(":")
    return (prefix, inner) if prefix in SUITES else ("", "")


def make(
    name: str, max_episode_steps: int = 0, render_mode: str | None = None
) -> gymnasium.Env[Any, Any]:
    """The environment of that id; the suite's own time limit holds besides the given one."""
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.wrappers import TimeLimit

    adapter, inner = _adapter(name)
    env: gymnasium.Env[Any, Any] = adapter.load(inner, render_mode)
    env.spec = EnvSpec(name, max_episode_steps=getattr(env, "time_limit", None))
    return TimeLimit(env, max_episode_steps) if max_episode_steps else env


def make_vector(
    name: str, count: int, max_episode_steps: int = 0
) -> VectorEnv[Any, Any, Any] | None:
    """So many environments, stepped in one call; None where the suite has none such."""
    if not SUITES[split(name)[0]].has_vector:
        return None
    adapter, inner = _adapter(name)
    env: VectorEnv[Any, Any, Any] = adapter.load_vector(inner, count, max_episode_steps)
    return env


def _adapter(name: str) -> tuple[ModuleType, str]:
    prefix, inner = split(name)
    suite = SUITES[prefix]
    for package in suite.packages:
        if find_spec(package) is None:
            raise SuiteError(needs(name, package, prefix, suite.last_python))
    if not inner:
        raise SuiteError(f"{name} names no environment; write {prefix}:{suite.example}")
    return import_module(f"{__name__}.{prefix}"), inner
