"""Cooperative environments of PettingZoo's: all agents as one, with a vertex for each.

Of an agent whose actions have several dimensions, each is a vertex. An agent that has left keeps
its vertices, of which one sub-action is allowed, and observes zeros.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from hyperaction.constraints import tables_of
from hyperaction.envs.suites import SUITES, SuiteError
from hyperaction.errors import unknown

KEY = "action_mask"


class Cooperative(gymnasium.Env[Any, Any]):
    """A parallel environment of PettingZoo's as one agent.

    Args:
        env: As its `parallel_env()` makes it.
        reward: The sum of the agents' rewards, or their mean: what each has where they share one.
    """

    def __init__(self, env: Any, reward: Literal["sum", "mean"] = "sum") -> None:
        self.parallel, self._is_mean = env, reward == "mean"
        self.render_mode = getattr(env, "render_mode", None)
        self.metadata = getattr(env, "metadata", {})
        agents = list(env.possible_agents)
        self.action_space = spaces.Dict([(agent, env.action_space(agent)) for agent in agents])
        seen = [(agent, _without_mask(env.observation_space(agent))) for agent in agents]
        self._seen, self.observation_space = dict(seen), spaces.Dict(seen)
        self.time_limit = getattr(env.unwrapped, "max_cycles", None)
        self._sizes = {agent: list(_sizes(env.action_space(agent))) for agent in agents}
        counts = [len(sizes) for sizes in self._sizes.values()]
        self._first = dict(zip(agents, np.cumsum([0, *counts]).tolist(), strict=False))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        return self._joined(*self.parallel.reset(seed=seed, options=options))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes the actions of the agents that are there; the episode ends with the last."""
        chosen = {agent: action[agent] for agent in self.parallel.agents}
        observations, rewards, _, truncations, infos = self.parallel.step(chosen)
        reward = float(sum(rewards.values())) / (max(len(rewards), 1) if self._is_mean else 1)
        over = not self.parallel.agents
        truncated = over and any(truncations.values())
        observation, info = self._joined(observations, infos)
        return observation, reward, over and not truncated, truncated, info

    def render(self) -> Any:
        """As the environment does."""
        return self.parallel.render()

    def close(self) -> None:
        """As the environment does."""
        self.parallel.close()

    def _joined(
        self, observations: dict[str, Any], infos: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        joined: dict[str, Any] = {}
        tables: dict[tuple[int, ...], Any] = {}
        for agent, space in self._seen.items():
            own, sizes, mask = observations.get(agent), self._sizes[agent], None
            if isinstance(own, dict) and KEY in own:
                mask = own[KEY]
                own = {name: part for name, part in own.items() if name != KEY}
            mask = infos.get(agent, {}).get(KEY, mask)
            is_here = agent in self.parallel.agents
            joined[agent] = own if own is not None and is_here else _zeros(space)
            if all(sizes):
                tables |= self._tables(agent, mask if is_here else _first_only(sizes))
        return joined, {KEY: tables} if tables else {}

    def _tables(self, agent: str, mask: Any) -> dict[tuple[int, ...], Any]:
        """What an agent may do, by the numbers of its vertices among all."""
        sizes, first = self._sizes[agent], self._first[agent]
        if mask is None:
            mask = tuple(np.ones(size, bool) for size in sizes)
        is_discrete = isinstance(self.parallel.action_space(agent), spaces.Discrete)
        own = tables_of(mask, sizes, is_discrete=is_discrete)
        return {tuple(first + vertex for vertex in scope): table for scope, table in own.items()}


def _first_only(sizes: list[int]) -> tuple[Any, ...]:
    return tuple(np.arange(size) == 0 for size in sizes)


def _sizes(space: Any) -> Iterator[int]:
    """The sub-actions of each vertex of an action space; 0 where they depend on bins."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        for part in parts:
            yield from _sizes(part)
    elif isinstance(space, spaces.Discrete):
        yield int(space.n)
    elif isinstance(space, spaces.MultiDiscrete):
        yield from map(int, np.ravel(space.nvec))
    else:
        each = 2 if isinstance(space, spaces.MultiBinary) else 0
        yield from [each] * int(np.prod(space.shape))


def _without_mask(space: Any) -> Any:
    if not isinstance(space, spaces.Dict) or KEY not in space.spaces:
        return space
    return spaces.Dict([(name, part) for name, part in space.items() if name != KEY])


def _zeros(space: Any) -> Any:
    """An observation of nothing."""
    if isinstance(space, spaces.Dict):
        return {name: _zeros(part) for name, part in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(map(_zeros, space.spaces))
    return space.start if isinstance(space, spaces.Discrete) else np.zeros(space.shape, space.dtype)


def load(name: str, render_mode: str | None = None) -> Cooperative:
    """The environment of a module of that name, such as mpe2.simple_spread_v3."""
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise SuiteError(f"pettingzoo:{name} needs the package {error.name}") from None
        ids = [f"pettingzoo:{each}" for each in _known()]
        raise SuiteError(unknown("environment", f"pettingzoo:{name}", ids)) from None
    if not hasattr(module, "parallel_env"):
        raise SuiteError(
            f"pettingzoo:{name} has no parallel_env: its agents do not act at the same time"
        )
    return Cooperative(module.parallel_env(render_mode=render_mode))


def _known() -> Iterator[str]:
    """The environments of the packages that are installed."""
    for package in SUITES["pettingzoo"].modules:
        try:
            found = list(pkgutil.iter_modules(import_module(package).__path__, f"{package}."))
        except ModuleNotFoundError:
            continue
        folders = [each.name for each in found if each.ispkg]
        for folder in folders:
            path = [f"{import_module(package).__path__[0]}/{folder.split('.')[-1]}"]
            found += pkgutil.iter_modules(path, f"{folder}.")
        yield from (each.name for each in found if each.name.rsplit("_v", 1)[-1].isdecimal())
