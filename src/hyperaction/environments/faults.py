"""Environments that break their promises: one line that says which, and when."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

Guard = Callable[[str], AbstractContextManager[None]]
"""What surrounds a call of an environment, told which call it is."""


class EnvironmentFaultError(RuntimeError):
    """An environment that raised, hung, or gave what nobody can learn from."""


def check_observation(observation: NDArray[np.float32], shape: tuple[int, ...]) -> None:
    """Refuses observations of another shape than the space's, and numbers that are not finite."""
    if observation.shape != shape:
        raise EnvironmentFaultError(
            f"the environment gave an observation of shape {observation.shape}; its space says "
            f"{shape}"
        )
    if not np.isfinite(observation).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(observation))[0])
        value = observation[place]
        raise EnvironmentFaultError(
            f"the environment gave the observation {value} at {list(place)}; only finite numbers "
            f"can be learned from"
        )


def check_reward(reward: float) -> None:
    """Refuses a reward that is not finite."""
    if not math.isfinite(reward):
        raise EnvironmentFaultError(f"the environment gave the reward {reward}; it must be finite")


def blamed(error: Exception, doing: str) -> EnvironmentFaultError:
    """What an environment raised, in one line with its place."""
    if isinstance(error, EnvironmentFaultError):
        return error
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split())
    raised = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return EnvironmentFaultError(
        f"the environment raised {raised} in {doing} ({Path(place.filename).name}, line "
        f"{place.lineno})"
    )


class Guarded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose exceptions are faults, and whose calls are made inside a guard."""

    def __init__(self, env: gymnasium.Env[Any, Any], guard: Guard) -> None:
        super().__init__(env)
        self._guard = guard

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment does."""
        with self._guard("reset"):
            try:
                return self.env.reset(seed=seed, options=options)
            except Exception as error:
                raise blamed(error, "reset") from error

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment does."""
        with self._guard("step"):
            try:
                return self.env.step(action)
            except Exception as error:
                raise blamed(error, "step") from error


def unguarded(doing: str) -> AbstractContextManager[None]:
    """The guard that does nothing."""
    return nullcontext()
