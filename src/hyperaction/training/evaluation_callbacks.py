"""Callbacks that are ready to use: stop at a return or on a plateau, keep the best agent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperaction.errors import SettingError
from hyperaction.runs.directory import BEST_FILE
from hyperaction.training.callbacks import Callback

if TYPE_CHECKING:
    from hyperaction.training.trainer import Trainer


class _AfterEvaluations(Callback):
    """Asked after every evaluation, and when a run is resumed, whether to continue."""

    def is_over(self, trainer: Trainer) -> bool:
        """Whether training is to stop, given all evaluations so far."""
        raise NotImplementedError

    def on_start(self, trainer: Trainer) -> bool | None:
        """Stops a run that had stopped already."""
        _check_evaluates(self, trainer)
        return not self.is_over(trainer)

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Stops training if it is to."""
        return not self.is_over(trainer)


class StopAtReturn(_AfterEvaluations):
    """Stops as soon as an evaluation has a return of at least this.

    Args:
        target: The return.
    """

    def __init__(self, target: float) -> None:
        self.target = float(target)
        if not math.isfinite(self.target):
            raise SettingError(f"`stop_at` must be a finite number, not {target}")

    def is_over(self, trainer: Trainer) -> bool:
        """Whether an evaluation was good enough."""
        return any(each["return"] >= self.target for each in trainer.evaluations)


class StopOnPlateau(_AfterEvaluations):
    """Stops when so many evaluations in a row were no better than the best before them.

    Args:
        patience: How many.
        min_gain: How much better an evaluation must be to count as better.
    """

    def __init__(self, patience: int, min_gain: float = 0.0) -> None:
        if not isinstance(patience, int) or isinstance(patience, bool) or patience < 1:
            raise SettingError(f"`patience` must be a whole number, at least 1, not {patience!r}")
        self.patience, self.min_gain = patience, min_gain

    def is_over(self, trainer: Trainer) -> bool:
        """Whether the last evaluations were no better."""
        best, since = -math.inf, 0
        for each in trainer.evaluations:
            since = 0 if each["return"] > best + self.min_gain else since + 1
            best = max(best, each["return"]) if since == 0 else best
        return since >= self.patience


class KeepBest(Callback):
    """Keeps the agent of the best evaluation in a file, besides the last one.

    Args:
        file: The file; by default best.safetensors in the directory of the run.
    """

    def __init__(self, file: str | Path | None = None) -> None:
        self.file = None if file is None else Path(file)

    def on_start(self, trainer: Trainer) -> bool | None:
        """Refuses a training that has no place for the file."""
        _check_evaluates(self, trainer)
        self._place(trainer)
        return None

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Writes the agent, if no evaluation before had as high a return."""
        before: list[Any] = [one for one in trainer.evaluations if one["step"] < metrics["step"]]
        if all(metrics["return"] > one["return"] for one in before):
            trainer.save_agent(self._place(trainer))
        return None

    def _place(self, trainer: Trainer) -> Path:
        if self.file is not None:
            return self.file
        if trainer.out is None:
            raise SettingError("there is no run to keep the best agent in; give `out`, or a file")
        return trainer.out / BEST_FILE


def _check_evaluates(callback: Callback, trainer: Trainer) -> None:
    """Refuses a training without evaluations, which would never come to what it is asked for."""
    if not trainer.services.can_evaluate:
        raise SettingError(f"{type(callback).__name__} needs evaluations; give `eval_env`")
