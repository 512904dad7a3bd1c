"""Jumanji's environments: one, or many in one compiled call.

An observation is a `Dict` of its fields. Its `action_mask`, if it has one, is Jumanji's own: over
all vertices together (BinPack, Tetris, Sudoku, Minesweeper), or a row for each (JobShop,
Connector). Jumanji calls most of its time limits ends of the problem; here they truncate.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import cache
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jumanji import registration, specs
from numpy.typing import NDArray

from hyperaction.envs.suites import SuiteError
from hyperaction.errors import unknown

NAMES = {
    "BinPack": ("space", "item"),
    "FlatPack": ("block", "rotation", "row", "column"),
    "Minesweeper": ("row", "column"),
    "RubiksCube": ("face", "depth", "turn"),
    "Sudoku": ("row", "column", "digit"),
    "Tetris": ("rotation", "column"),
}
"""What Jumanji's dimensions are, by the class of the environment."""

EACH = {"JobShop": "machine", "MultiCVRP": "vehicle", "SearchAndRescue": ""}
"""What each vertex is, by the class of the environment; else it is an agent."""


class Jumanji(gymnasium.Env[Any, Any]):
    """One environment of Jumanji's.

    Args:
        env: As Jumanji makes it.
        render_mode: `"rgb_array"` for images, which Jumanji draws with Matplotlib.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, env: Any, render_mode: str | None = None) -> None:
        self.jumanji, self.render_mode = env, render_mode
        self.observation_space = space_of(env.observation_spec)
        self.action_space = actions_of(env)
        self.action_names = names_of(env)
        self.time_limit: int | None = getattr(env, "time_limit", None)
        self._reset, self._step = _compiled(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        self.state, observation = self._reset(_key(self.np_random))
        return jax.device_get(observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action."""
        self.state, *results = self._step(self.state, action)
        observation, reward, terminated, truncated = jax.device_get(results)
        return observation, float(reward), bool(terminated), bool(truncated), {}

    def render(self) -> Any:
        """The state as an image."""
        import matplotlib

        matplotlib.use("agg")
        viewer = self.jumanji.unwrapped._viewer
        if hasattr(viewer, "_display_rgb_array"):  # Made to open a window.
            viewer._display = viewer._display_rgb_array
        with _no_warnings():
            return np.array(self.jumanji.render(self.state))[..., :3]

    def close(self) -> None:
        """Closes the figure."""
        self.jumanji.close()


class JumanjiVector(VectorEnv[Any, Any, Any]):
    """Several environments of Jumanji's in one compiled call, each as it would be alone.

    Args:
        env: As Jumanji makes it.
        num_envs: How many.
        max_episode_steps: A time limit besides the environment's own; 0 for none.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, env: Any, num_envs: int, max_episode_steps: int = 0) -> None:
        self.num_envs = num_envs
        self.single_observation_space = space_of(env.observation_spec)
        self.single_action_space = actions_of(env)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.action_names = names_of(env)
        self._limit = max_episode_steps or np.inf
        self._reset, self._step = _compiled_vector(env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts all episodes; the seeds of the environments are this one and those after it."""
        if seed is not None or not hasattr(self, "_generators"):
            seeds = [None if seed is None else seed + index for index in range(self.num_envs)]
            self._generators = [np_random(each)[0] for each in seeds]
        self._lengths = np.zeros(self.num_envs, int)
        self.states, observation = self._reset(self._keys(range(self.num_envs)))
        self._next_keys = self._keys(range(self.num_envs))
        return jax.device_get(observation), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Takes one action in each; those whose episode ends begin another."""
        self._lengths += 1
        over = self._lengths >= self._limit
        self.states, *results = self._step(self.states, actions, self._next_keys, over)
        observation, final, reward, terminated, truncated = jax.device_get(results)
        ended = np.flatnonzero(terminated | truncated)
        if not ended.size:
            return observation, reward, terminated, truncated, {}
        self._lengths[ended] = 0
        self._next_keys[ended] = self._keys(ended)
        finals = np.full(self.num_envs, None, object)
        for index in ended:
            finals[index] = jax.tree.map(lambda leaf, index=index: leaf[index], final)
        info = {"final_obs": finals, "_final_obs": terminated | truncated}
        return observation, reward, terminated, truncated, info

    def _keys(self, indices: Any) -> NDArray[np.uint32]:
        return np.stack([_key(self._generators[index]) for index in indices])


def _key(generator: np.random.Generator) -> NDArray[np.uint32]:
    """A key of JAX's."""
    return generator.integers(2**32, size=2, dtype=np.uint32)


@cache
def _compiled(env: Any) -> tuple[Any, Any]:
    """Resets and steps of one environment, compiled once however often it is made."""
    reset, step = _functions(env)
    return jax.jit(reset), jax.jit(step)


@cache
def _compiled_vector(env: Any) -> tuple[Any, Any]:
    """As `_compiled`, of several environments; those that end are reset in the same call."""
    reset, step = _functions(env)

    def step_all(states: Any, actions: Any, keys: Any, over: Any) -> tuple[Any, ...]:
        states, final, reward, terminated, truncated = jax.vmap(step)(states, actions)
        truncated = truncated | (over & ~terminated)

        def begun(ended: Any, key: Any, state: Any, observation: Any) -> Any:
            return jax.lax.cond(ended, lambda: reset(key), lambda: (state, observation))

        # One after the other, as resets take long and most environments have none to do.
        arguments = (terminated | truncated, keys, states, final)
        states, observation = jax.lax.map(lambda each: begun(*each), arguments)
        return states, observation, final, reward, terminated, truncated

    return jax.jit(jax.vmap(reset)), jax.jit(step_all)


def _functions(env: Any) -> tuple[Any, Any]:
    """How one environment is reset and stepped, with observations as dictionaries."""
    unlimited = None
    if hasattr(env, "time_limit"):
        unlimited = copy.copy(env.unwrapped)
        unlimited.time_limit = np.iinfo(np.int32).max

    def reset(key: Any) -> tuple[Any, Any]:
        with _no_warnings():
            state, first = env.reset(key)
        return state, as_dict(first.observation)

    def step(state: Any, action: Any) -> tuple[Any, ...]:
        with _no_warnings():
            after, result = env.step(state, action)
            # Jumanji does not say which ends are the time limit's: without it they are none.
            otherwise = result if unlimited is None else unlimited.step(state, action)[1]
        terminated = result.last() & otherwise.last() & (result.discount == 0).all()
        truncated = result.last() & ~terminated
        return after, as_dict(result.observation), result.reward.sum(), terminated, truncated

    return reset, step


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Without JAX's, when it compiles, of types that Jumanji mixes; and Matplotlib's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def as_dict(observation: Any) -> Any:
    """An observation's fields by name, and those of its fields."""
    if hasattr(observation, "_asdict"):
        parts = observation._asdict()
    elif is_dataclass(observation):
        parts = vars(observation)
    else:
        return observation
    return {name: as_dict(part) for name, part in parts.items()}


def space_of(spec: Any) -> spaces.Space[Any]:
    """The space of an observation, or of a part of it."""
    if not isinstance(spec, specs.Array):
        parts = {name: each for name, each in vars(spec).items() if isinstance(each, specs.Spec)}
        return spaces.Dict({name: space_of(each) for name, each in parts.items()})
    if isinstance(spec, specs.DiscreteArray):
        # It may be one more (the last step count) or one less (where TSP begins).
        return spaces.Box(-1, int(spec.num_values), (), spec.dtype)
    low, high = (-np.inf, np.inf) if spec.dtype.kind == "f" else _range(spec.dtype)
    low, high = getattr(spec, "minimum", low), getattr(spec, "maximum", high)
    bounds = [np.broadcast_to(np.asarray(each, spec.dtype), spec.shape) for each in (low, high)]
    return spaces.Box(bounds[0], bounds[1], spec.shape, spec.dtype)


def _range(dtype: Any) -> tuple[Any, Any]:
    return (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def actions_of(env: Any) -> spaces.Space[Any]:
    """The action space of an environment."""
    spec = env.action_spec
    if isinstance(spec, specs.DiscreteArray):
        return spaces.Discrete(int(spec.num_values))
    if isinstance(spec, specs.MultiDiscreteArray):
        return spaces.MultiDiscrete(np.asarray(spec.num_values))
    if spec.dtype.kind == "f":
        return space_of(spec)
    sizes = np.broadcast_to(np.asarray(spec.maximum) + 1, spec.shape)
    mask = getattr(env.observation_spec, "action_mask", None)
    if mask is not None and mask.shape[:-1] == sizes.shape:  # MultiCVRP's maximum is one too many.
        sizes = np.minimum(sizes, mask.shape[-1])
    return spaces.MultiDiscrete(sizes, dtype=spec.dtype)


def names_of(env: Any) -> tuple[str, ...] | None:
    """What the dimensions of an environment's actions are called."""
    kind, shape = type(env.unwrapped).__name__, env.action_spec.shape
    if kind in NAMES or not shape:
        return NAMES.get(kind)
    each = EACH.get(kind, "agent")
    return tuple(f"{each}_{index}" for index in range(shape[0])) if each else None


@cache
def _made(name: str) -> Any:
    """The environment of that name; as it has no state, one serves all."""
    known = registration.registered_environments()
    if name not in known:
        ids = [f"jumanji:{each}" for each in sorted(known)]
        raise SuiteError(unknown("environment", f"jumanji:{name}", ids))
    return registration.make(name)


def load(name: str, render_mode: str | None = None) -> Jumanji:
    """The environment of that name."""
    return Jumanji(_made(name), render_mode)


def load_vector(name: str, count: int, max_episode_steps: int = 0) -> JumanjiVector:
    """So many environments of that name."""
    return JumanjiVector(_made(name), count, max_episode_steps)
