"""Callbacks: called as training goes, and able to stop it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hyperaction.errors import SettingError
from hyperaction.runs.loggers import Logger, by_kind
from hyperaction.training.episodes import Episode

if TYPE_CHECKING:
    from hyperaction.training.trainer import Trainer


class Callback:
    """Called as training goes; override what you need. Returning False stops training.

    All get the trainer: `trainer.step`, `trainer.evaluations`, the run's directory `trainer.out`,
    `trainer.record(name, value)` for metrics of your own, `trainer.evaluate()` and
    `trainer.save()`.
    """

    def on_start(self, trainer: Trainer) -> bool | None:
        """Training begins, or is resumed."""

    def on_episode(self, trainer: Trainer, episode: Episode) -> bool | None:
        """An episode ended: its undiscounted return `total`, and its `length`."""

    def on_step(self, trainer: Trainer) -> bool | None:
        """A step in every environment, with its learning, is done."""

    def on_phase(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """A phase of training ended: what is logged of it, such as return, length and loss."""

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """An evaluation ended: step, episodes, return, lowest, highest and length."""

    def on_next_phase(self, trainer: Trainer) -> bool | None:
        """The next phase begins: a run can be resumed from here."""


def name_of(callback: Callback) -> str:
    """What a callback is called in messages."""
    callback = getattr(callback, "inner", callback)
    function = callback.function if isinstance(callback, EveryStep) else type(callback)
    return getattr(function, "__name__", type(function).__name__)


class EveryStep(Callback):
    """A function that is called with the trainer after every step."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def on_step(self, trainer: Trainer) -> bool | None:
        """Calls the function."""
        return self.function(trainer)


class LogTo(Callback):
    """Logs phases and evaluations; a logger that fails is given up with a warning."""

    def __init__(self, logger: Logger) -> None:
        self.logger: Logger | None = logger

    def on_phase(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Logs the phase."""
        self._log("train", metrics, trainer.step)
        return None

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Logs the evaluation."""
        self._log("eval", metrics, trainer.step)
        return None

    def _log(self, kind: str, metrics: dict[str, float], step: int) -> None:
        if self.logger is None:
            return
        try:
            self.logger.log(by_kind(kind, metrics), step)
        except Exception as error:
            name, self.logger = type(self.logger).__name__, None
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(
                f"the logger {name} is given up: it failed ({reason}); learning continues",
                RuntimeWarning,
                stacklevel=2,
            )


def as_callbacks(given: Any) -> list[Callback]:
    """One callback, a function, or several of them, as a list of callbacks."""
    several: Sequence[Any]
    several = given if isinstance(given, list | tuple) else [] if given is None else [given]
    return [_as_callback(each) for each in several]


def _as_callback(given: Any) -> Callback:
    if isinstance(given, Callback):
        return given
    if isinstance(given, type) or not callable(given):
        what = f"the class {given.__name__}" if isinstance(given, type) else repr(given)
        hint = f"; did you mean {given.__name__}()?" if isinstance(given, type) else ""
        raise SettingError(f"`callback` must be a Callback or a function, not {what}{hint}")
    return EveryStep(given)
