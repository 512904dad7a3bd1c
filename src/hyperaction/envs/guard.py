"""Checks around an environment: what it may not do ends in one line that says what and when."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

Guard = Callable[[str], AbstractContextManager[None]]
"""A context around each call of an environment, made with the name of the call."""


class EnvironmentFaultError(RuntimeError):
    """An environment that raised, hung, or returned something unusable."""


def check_observation(observation: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuses observations of another shape than the space's, and numbers that are not finite."""
    if observation.shape != shape:
        raise EnvironmentFaultError(
            f"the environment returned an observation of shape {observation.shape}; its space has "
            f"{shape}"
        )
    if observation.dtype != np.uint8 and not np.isfinite(observation).all():
        index = tuple(int(axis) for axis in np.argwhere(~np.isfinite(observation))[0])
        value = observation[index]
        raise EnvironmentFaultError(
            f"the environment returned the observation {value} at {list(index)}; it must be finite"
        )


def checked_reward(reward: Any) -> float:
    """The reward as a float; raises where it is not a finite number."""
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        raise EnvironmentFaultError(
            f"the environment returned the reward {short(reward)}, which is not a number"
        ) from None
    if not math.isfinite(number):
        raise EnvironmentFaultError(
            f"the environment returned the reward {number}; it must be finite"
        )
    return number


def checked_flag(name: str, value: Any) -> bool:
    """Whether an episode is terminated or truncated; raises where that is not a yes or a no."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    with suppress(Exception):
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "biuf":
            return bool(array.item())
    raise EnvironmentFaultError(
        f"the environment returned {name} as {short(value)}; it must be true or false"
    )


def as_fault(error: BaseException, call: str) -> BaseException:
    """An exception of the environment as a fault, with its location; Ctrl-C stays what it is."""
    if isinstance(error, EnvironmentFaultError | KeyboardInterrupt):
        return error
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = short(error)
    raised = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return EnvironmentFaultError(
        f"the environment raised {raised} in {call} ({Path(frame.filename).name}, line "
        f"{frame.lineno})"
    )


MAX_MESSAGE = 300
"""Characters of an environment's message that are shown."""


def short(thing: Any) -> str:
    """An object as text, in one line that a terminal can show."""
    try:
        text = " ".join(str(thing).split())
    except Exception:
        text = f"a {type(thing).__name__} that cannot be shown"
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."


class Guarded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose exceptions become faults, and whose calls are made inside a guard."""

    def __init__(self, env: gymnasium.Env[Any, Any], guard: Guard) -> None:
        super().__init__(env)
        self._guard = guard

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment does."""
        with self._guard("reset"):
            try:
                answer = self.env.reset(seed=seed, options=options)
            except BaseException as error:
                raise as_fault(error, "reset") from error
        return _checked(answer, "reset", ("observation", "info"))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment does."""
        with self._guard("step"):
            try:
                answer = self.env.step(action)
            except BaseException as error:
                raise as_fault(error, "step") from error
        return _checked(answer, "step", STEP)

    def render(self) -> Any:
        """As the environment does."""
        with self._guard("render"):
            try:
                return self.env.render()
            except BaseException as error:
                raise as_fault(error, "render") from error

    def close(self) -> None:
        """As the environment does; failures are ignored."""
        with self._guard("close"), suppress(Exception):
            self.env.close()


STEP = ("observation", "reward", "terminated", "truncated", "info")


def _checked(answer: Any, call: str, parts: tuple[str, ...]) -> Any:
    right = isinstance(answer, tuple) and len(answer) == len(parts)
    if not right or not isinstance(answer[-1], dict):
        given = (
            f"{len(answer)} values" if isinstance(answer, tuple) else f"a {type(answer).__name__}"
        )
        raise EnvironmentFaultError(
            f"the environment's {call} returned {given}, not {', '.join(parts)} (a dict)"
        )
    return answer


def unguarded(call: str) -> AbstractContextManager[None]:
    """The guard that does nothing."""
    return nullcontext()
