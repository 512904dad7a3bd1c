"""Environments that break their promises: one line that says which, and when."""

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
"""What surrounds a call of an environment, told which call it is."""


class EnvironmentFaultError(RuntimeError):
    """An environment that raised, hung, or gave what nobody can learn from."""


def check_observation(observation: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuses observations of another shape than the space's, and numbers that are not finite."""
    if observation.shape != shape:
        raise EnvironmentFaultError(
            f"the environment gave an observation of shape {observation.shape}; its space says "
            f"{shape}"
        )
    if observation.dtype != np.uint8 and not np.isfinite(observation).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(observation))[0])
        value = observation[place]
        raise EnvironmentFaultError(
            f"the environment gave the observation {value} at {list(place)}; only finite numbers "
            f"can be learned from"
        )


def checked_reward(reward: Any) -> float:
    """The reward as a number; one that is none, or not finite, is refused."""
    try:
        number = float(reward)
    except (TypeError, ValueError):
        raise EnvironmentFaultError(
            f"the environment gave the reward {_short(reward)}, which is no number"
        ) from None
    if not math.isfinite(number):
        raise EnvironmentFaultError(f"the environment gave the reward {number}; it must be finite")
    return number


def blamed(error: BaseException, doing: str) -> BaseException:
    """What an environment raised, in one line with its place; Ctrl-C is not its fault."""
    if isinstance(error, EnvironmentFaultError | KeyboardInterrupt):
        return error
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = _short(error)
    raised = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return EnvironmentFaultError(
        f"the environment raised {raised} in {doing} ({Path(place.filename).name}, line "
        f"{place.lineno})"
    )


LONGEST = 300
"""Characters of what an environment says that are told."""


def _short(thing: Any) -> str:
    """What something says of itself, in one line that a terminal can show."""
    try:
        text = " ".join(str(thing).split())
    except Exception:
        text = f"a {type(thing).__name__} that cannot be shown"
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


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
                answer = self.env.reset(seed=seed, options=options)
            except BaseException as error:
                raise blamed(error, "reset") from error
        return _checked(answer, "reset", ("observation", "info"))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment does."""
        with self._guard("step"):
            try:
                answer = self.env.step(action)
            except BaseException as error:
                raise blamed(error, "step") from error
        return _checked(answer, "step", STEP)

    def render(self) -> Any:
        """As the environment does."""
        with self._guard("render"):
            try:
                return self.env.render()
            except BaseException as error:
                raise blamed(error, "render") from error

    def close(self) -> None:
        """As the environment does; if it fails, that matters to nobody any more."""
        with self._guard("close"), suppress(Exception):
            self.env.close()


STEP = ("observation", "reward", "terminated", "truncated", "info")


def _checked(answer: Any, doing: str, parts: tuple[str, ...]) -> Any:
    right = isinstance(answer, tuple) and len(answer) == len(parts)
    if not right or not isinstance(answer[-1], dict):
        given = (
            f"{len(answer)} values" if isinstance(answer, tuple) else f"a {type(answer).__name__}"
        )
        raise EnvironmentFaultError(
            f"the environment's {doing} returned {given}, not {', '.join(parts)} (a dict)"
        )
    return answer


def unguarded(doing: str) -> AbstractContextManager[None]:
    """The guard that does nothing."""
    return nullcontext()
