"""What callbacks can ask a trainer for: evaluations, checkpoints, files of the agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from hyperaction.errors import SettingError

TAKEN = ("kind", "step", "episodes", "return", "lowest", "highest", "length", "loss")
"""Metrics that every phase has."""


def _no_evaluation() -> NoReturn:
    raise SettingError("there is nothing to evaluate in; give `eval_env`")


def _no_file(file: Path) -> NoReturn:
    raise SettingError("the agent cannot be written here; write it where `learn` was called")


class TrainerServices:
    """Where a trainer takes what callbacks ask for; who trains it sets what is possible."""

    def __init__(self) -> None:
        self.evaluations: list[dict[str, float]] = []
        """The metrics of all evaluations so far."""
        self.out: Path | None = None
        """The directory of the run, if there is one."""
        self.evaluate: Callable[[], dict[str, float]] = _no_evaluation
        self.save_agent: Callable[[Path], Any] = _no_file
        self.is_save_asked = False

    @property
    def can_evaluate(self) -> bool:
        """Whether there is something to evaluate in."""
        return self.evaluate is not _no_evaluation

    def ask_to_save(self) -> None:
        """A checkpoint is to be written as soon as that can be."""
        if self.out is None:
            raise SettingError("there is no run to save; give `out`, or write the agent alone")
        self.is_save_asked = True


def checked_name(name: str) -> str:
    """The name of a metric of one's own, if no other has it."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise SettingError(f"a metric's name is text, not {name!r}")
    if name in TAKEN:
        raise SettingError(f"every phase has a metric {name}; choose another name")
    return name
