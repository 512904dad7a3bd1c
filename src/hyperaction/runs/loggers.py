"""Loggers: where a run's metrics go besides its own file.

A logger is made with the run's directory and the step that it resumes from, and has `log` and
`close`. To add one, write the class here and register it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from hyperaction.errors import SettingError, unknown
from hyperaction.references import is_reference, load


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
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog
        from tensorboardX.summary import scalar

        # Not its SummaryWriter, which writes in a thread: if that dies, it prints why, and blocks.
        self._writer = EventsWriter(str(out / "events"), f".{step}")
        self._event, self._scalar = Event, scalar
        if step:
            # Events after the step are of a run that did not get as far as its next checkpoint.
            begin = SessionLog(status=SessionLog.START)
            self._writer.write_event(Event(step=step + 1, session_log=begin))

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds a scalar for each."""
        now = time.time()
        for name, value in metrics.items():
            summary = self._scalar(name, value)
            self._writer.write_event(self._event(step=step, wall_time=now, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()


LOGGERS: dict[str, Callable[[Path, int], Logger]] = {"tensorboard": TensorBoard}


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
        self._thread.join(CLOSE_TIMEOUT_S)
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
                logger = logger or self._make()
                logger.log(*entry)
            if logger is not None:
                logger.close()
        except BaseException as error:  # Of any kind: it is reported with the next metrics.
            self._error = error


def by_kind(kind: str, metrics: dict[str, float]) -> dict[str, float]:
    """Metrics as loggers take them: with their kind in the name, without the step."""
    return {f"{kind}/{name}": value for name, value in metrics.items() if name != "step"}
