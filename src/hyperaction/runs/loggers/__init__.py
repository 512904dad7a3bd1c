"""Loggers: where a run's metrics go besides its own file.

A logger is made with the run's directory and the step that it resumes from, and has `log` and
`close`. To add one, write its class in a file here and register it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from hyperaction.errors import SettingError, unknown
from hyperaction.references import is_reference, load
from hyperaction.runs.loggers.csv_file import CSV
from hyperaction.runs.loggers.tensorboard import TensorBoard
from hyperaction.runs.loggers.trackio import Trackio
from hyperaction.runs.loggers.wandb import WandB

__all__ = [
    "Background", "Logger", "LOGGERS", "by_kind", "check_installed",
    "CSV", "TensorBoard", "Trackio", "WandB",
]  # fmt: skip


class Logger(Protocol):
    """Where metrics go."""

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Takes metrics by name, such as train/return."""
        ...

    def close(self) -> None:
        """Writes what is left."""
        ...


LOGGERS: dict[str, Callable[[Path, int], Logger]] = {
    "tensorboard": TensorBoard,
    "csv": CSV,
    "wandb": WandB,
    "trackio": Trackio,
}

DEFAULT = ("tensorboard",)
"""The loggers of a run that names none."""

EXTRAS = ("wandb", "trackio")
"""Loggers that need a package, which an extra of the same name has."""


def check_installed(name: str) -> None:
    """Refuses a logger whose package is not there, before a run starts."""
    if name in EXTRAS and find_spec(name) is None:
        raise SettingError(f"`loggers` {name} needs {name}: pip install 'hyperaction[{name}]'")


def logger_class(name: str) -> Callable[[Path, int], Logger]:
    """What makes a logger: a registered one by name, one of the user's own by module:Class."""
    if is_reference(name):
        own: Callable[[Path, int], Logger] = load(name, "loggers")
        return own
    if name not in LOGGERS:
        raise SettingError(f"`loggers`: {unknown('logger', name, LOGGERS)}")
    return LOGGERS[name]


MAX_WAITING = 1_000
"""Metrics that wait for a slow logger before it is given up."""

CLOSE_TIMEOUT_S = 5.0


class Background:
    """A logger in a thread of its own: one that fails or hangs never stops training.

    Args:
        name: The logger's name, for messages.
        make: Makes the logger, when there is something to log.
        on_problem: Called once, with a message, if the logger is given up.
    """

    def __init__(
        self, name: str, make: Callable[[], Logger], on_problem: Callable[[str], None]
    ) -> None:
        self.name, self._make, self._on_problem = name, make, on_problem
        self._queue: queue.Queue[tuple[dict[str, float], int] | None] = queue.Queue(MAX_WAITING)
        self._error: BaseException | None = None
        self._is_given_up = False
        self._close_timeout: float | None = None
        """The logger's own, where it may take longer."""
        self._thread = threading.Thread(target=self._work, name=f"logger {name}", daemon=True)
        self._thread.start()

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Passes metrics on, unless the logger was given up."""
        self._check()
        if self._is_given_up:
            return
        try:
            self._queue.put_nowait((metrics, step))
        except queue.Full:
            self._give_up("it hangs")

    def close(self) -> None:
        """Waits some seconds for what is left."""
        if self._is_given_up:
            return
        with suppress(queue.Full):
            self._queue.put_nowait(None)
        self._thread.join(self._close_timeout or CLOSE_TIMEOUT_S)
        self._check()
        if self._thread.is_alive():
            self._give_up("it hangs")

    def _check(self) -> None:
        if self._error is not None:
            reason = " ".join(str(self._error).split())
            self._give_up(f"it failed ({type(self._error).__name__}: {reason})")

    def _give_up(self, reason: str) -> None:
        if not self._is_given_up:
            self._is_given_up = True
            self._on_problem(f"the logger {self.name} is given up: {reason}; training continues")

    def _work(self) -> None:
        try:
            logger: Logger | None = None
            while (entry := self._queue.get()) is not None:
                if logger is None:
                    logger = self._make()
                    self._close_timeout = getattr(logger, "close_timeout_s", None)
                logger.log(*entry)
            if logger is not None:
                logger.close()
        except BaseException as error:  # Of any kind: it is reported with the next metrics.
            self._error = error


def by_kind(kind: str, metrics: dict[str, float]) -> dict[str, float]:
    """Metrics as loggers take them: with their kind in the name, without the step."""
    return {f"{kind}/{name}": value for name, value in metrics.items() if name != "step"}
