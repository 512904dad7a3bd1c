"""The DeepMind Control Suite. A vertex is an actuator; the time limit truncates."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hyperaction.envs.pybullet import quiet
from hyperaction.envs.suites import SuiteError
from hyperaction.errors import unknown

IMAGE = (480, 640)
"""Height and width of images."""


class DMControl(gymnasium.Env[Any, Any]):
    """An environment of dm_control's.

    Args:
        env: As `dm_control.suite.load` makes it.
        render_mode: `"rgb_array"` for images, which need EGL or OSMesa where there is no screen.
    """

    def __init__(self, env: Any, render_mode: str | None = None) -> None:
        self.dm, self.render_mode = env, render_mode
        fps = round(1 / env.control_timestep())
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": fps}
        actions = env.action_spec()
        self.action_space = spaces.Box(actions.minimum, actions.maximum, dtype=actions.dtype.type)
        self.observation_space = spaces.Dict(
            [
                (name, spaces.Box(-np.inf, np.inf, each.shape, np.float64))
                for name, each in env.observation_spec().items()
            ]
        )
        self.time_limit = int(env._step_limit) if np.isfinite(env._step_limit) else None

    @property
    def model(self) -> Any:
        """MuJoCo's model, which names the vertices and has the robot's joints."""
        return self.dm.physics.model.ptr

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        if seed is not None:
            self.dm.task.random.seed(self.np_random.integers(2**32))
        return self._observed(self.dm.reset()), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action."""
        result = self.dm.step(action)
        terminated = result.last() and result.discount == 0
        truncated = result.last() and not terminated
        return self._observed(result), float(result.reward), terminated, truncated, {}

    def render(self) -> Any:
        """The first camera's image."""
        return self.dm.physics.render(*IMAGE, camera_id=0)

    def close(self) -> None:
        """Frees what MuJoCo holds."""
        self.dm.close()

    def _observed(self, result: Any) -> dict[str, Any]:
        return {name: np.asarray(each, float) for name, each in result.observation.items()}


def load(name: str, render_mode: str | None = None) -> DMControl:
    """The task of the suite of that domain and name, such as dog-walk."""
    domain, _, task = name.partition("-")
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # About a missing screen.
        from dm_control import suite
    if (domain, task) not in suite.ALL_TASKS:
        ids = [f"dmc:{'-'.join(each)}" for each in suite.ALL_TASKS]
        raise SuiteError(unknown("environment", f"dmc:{name}", ids))
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Some tasks draw their robot when they are made.
        env = suite.load(domain, task, task_kwargs={"random": 0})
    return DMControl(env, render_mode)
