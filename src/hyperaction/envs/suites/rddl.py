"""RDDL problems of pyRDDLGym: the domains of rddlrepository, or any of your own.

A vertex is an action fluent with its objects, called as pyRDDLGym does (`reboot___c1`).
`max-nondef-actions` is a `Cardinality` over the boolean ones. An observation is a `Dict` of
numbers, and objects are one of several. The horizon truncates.
"""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pyRDDLGym
from gymnasium import spaces
from rddlrepository.core.manager import RDDLRepoManager

from hyperaction.constraints import Cardinality
from hyperaction.envs.pybullet import quiet
from hyperaction.envs.suites import SuiteError
from hyperaction.errors import unknown


class Rddl(gymnasium.Env[Any, Any]):
    """A problem of pyRDDLGym's.

    Args:
        env: As `pyRDDLGym.make` makes it, not vectorised, with
            `enforce_action_count_non_bool=False` and
            `backend_kwargs={"objects_as_strings": False}`.
        render_mode: `"rgb_array"` for images.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012

    def __init__(self, env: Any, render_mode: str | None = None) -> None:
        self.rddl, self.render_mode = env, render_mode
        self.action_space = env.action_space
        self.action_names = tuple(env.action_space)
        self.time_limit = int(env.horizon)
        objects = _fluents(env, env.model.type_to_objects)
        self._seen = {
            name: space if name in objects else _number(space)
            for name, space in env.observation_space.items()
        }
        self.observation_space = spaces.Dict(list(self._seen.items()))
        booleans = [i for i, name in enumerate(env.action_space) if name in _fluents(env, ["bool"])]
        defaults = [int(env.sampler.grounded_noop_actions[self.action_names[i]]) for i in booleans]
        self.action_constraints: list[Cardinality] = []
        if env.max_allowed_actions < len(booleans):
            most = Cardinality(
                env.max_allowed_actions, vertices=tuple(booleans), default=tuple(defaults)
            )
            self.action_constraints.append(most)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        observation, info = self.rddl.reset(seed=seed)
        return self._numbers(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action."""
        values = {name: np.asarray(value).item() for name, value in action.items()}
        with np.errstate(all="ignore"):  # Both branches of an RDDL `if` are computed.
            observation, reward, terminated, truncated, info = self.rddl.step(values)
        return self._numbers(observation), float(reward), bool(terminated), bool(truncated), info

    def render(self) -> Any:
        """The state as an image."""
        return np.asarray(self.rddl.render(to_display=False).convert("RGB"))

    def close(self) -> None:
        """Frees what pyRDDLGym holds."""
        self.rddl.close()

    def _numbers(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The observation; what is not observed yet, as in the first of a POMDP, is zero."""
        return {
            name: np.asarray(observation[name] or 0, space.dtype)
            for name, space in self._seen.items()
        }


def _fluents(env: Any, ranges: Any) -> set[str]:
    """The fluents, with their objects, whose values are of such a range."""
    known = env.model.variable_ranges | env.model.action_ranges
    found = {name: kind for name, kind in known.items() if kind in ranges}
    return set(env.model.ground_vars_with_value(found))


def _number(space: Any) -> spaces.Box:
    if isinstance(space, spaces.Discrete):
        low, high = space.start, space.start + space.n - 1
    else:
        low, high = space.low.item(), space.high.item()
    return spaces.Box(float(low), float(high), (), np.float32)


def load(name: str, render_mode: str | None = None) -> Rddl:
    """The problem of rddlrepository of that domain and instance, such as MarsRover_ippc2023/1."""
    domain, _, instance = name.partition("/")
    repository = RDDLRepoManager()
    problems = {each: f"rddl:{each}" for each in repository.list_problems()}
    if domain not in problems:
        raise SuiteError(unknown("environment", f"rddl:{domain}", problems.values()))
    instances = repository.get_problem(domain).list_instances()
    if instance not in instances:
        listed = ", ".join(f"{domain}/{each}" for each in instances)
        raise SuiteError(f"unknown environment 'rddl:{name}'; choose from {listed}")
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # About bounds that it does not find.
        env = pyRDDLGym.make(
            domain,
            instance,
            enforce_action_count_non_bool=False,
            backend_kwargs={"objects_as_strings": False},
        )
    return Rddl(env, render_mode)
