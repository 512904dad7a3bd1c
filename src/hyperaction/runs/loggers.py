"""Loggers: where a run's metrics go besides its own file.

A logger is made with the run's directory and the step that it resumes from, and has `log` and
`close`. To add one, write the class here and register it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class Logger(Protocol):
    """Where metrics go."""

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Takes metrics by name, such as train/return."""
        ...

    def close(self) -> None:
        """Writes what is left."""
        ...


class TensorBoard:
    """TensorBoard events, in the run's directory."""

    def __init__(self, out: Path, step: int) -> None:
        from tensorboardX import SummaryWriter

        # Events after the step are of a run that did not get as far as its next checkpoint.
        purge_step = step + 1 if step else None
        self._writer = SummaryWriter(str(out), flush_secs=30, purge_step=purge_step)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds a scalar for each."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()


LOGGERS: dict[str, Callable[[Path, int], Logger]] = {"tensorboard": TensorBoard}

MAX_WAITING = 1_000
"""Metrics that wait for a slow logger before it is given up."""

CLOSE_TIMEOUT_S = 5.0


class Background:
    """A logger in a thread of its own: one that fails or hangs never stops training.

    Args:
        name: The logger's name, for messages.
        logger: What takes the metrics.
        on_problem: Called once, with a message, if the logger is given up.
    """

    def __init__(self, name: str, logger: Logger, on_problem: Callable[[str], None]) -> None:
        self.name, self.logger, self._on_problem = name, logger, on_problem
        self._queue: queue.Queue[tuple[dict[str, float], int] | None] = queue.Queue(MAX_WAITING)
        self._error: Exception | None = None
        self._is_given_up = False
        self._thread = threading.Thread(target=self._work, name=f"logger {name}", daemon=True)
        self._thread.start()

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Passes metrics on, unless the logger was given up."""
        if self._error is not None:
            self._give_up(f"it failed ({type(self._error).__name__}: {self._error})")
        if self._is_given_up:
            return
        try:
            self._queue.put_nowait((metrics, step))
        except queue.Full:
            self._give_up("it hangs")

    def close(self) -> None:
        """Waits some seconds for what is left."""
        if not self._is_given_up and self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(CLOSE_TIMEOUT_S)

    def _give_up(self, reason: str) -> None:
        if not self._is_given_up:
            self._is_given_up = True
            self._on_problem(f"the logger {self.name} is given up: {reason}; training continues")

    def _work(self) -> None:
        try:
            while (entry := self._queue.get()) is not None:
                self.logger.log(*entry)
            self.logger.close()
        except Exception as error:  # Of any kind: it is reported with the next metrics.
            self._error = error


def by_kind(kind: str, metrics: dict[str, float]) -> dict[str, float]:
    """Metrics as loggers take them: with their kind in the name, without the step."""
    return {f"{kind}/{name}": value for name, value in metrics.items() if name != "step"}
