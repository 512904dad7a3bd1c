"""What a run writes as it trains: metrics, checkpoints, progress."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from hyperaction.runs.directory import AGENT_FILE, STRUCTURE, Run
from hyperaction.runs.files import write_json
from hyperaction.runs.progress import Progress, read_progress, write_progress
from hyperaction.training.agent_file import AgentFile, save
from hyperaction.training.callbacks import Callback
from hyperaction.training.checkpoint import TrainerCheckpoints
from hyperaction.training.config import TrainConfig
from hyperaction.training.loop import is_complete
from hyperaction.training.trainer import Trainer

OnProgress = Callable[[Progress], None]
"""Called with how far a run is."""

REPORT_EVERY_S, WRITE_EVERY_S, SPEED_WINDOW_S = 0.5, 2.0, 30.0
"""Seconds between reports, between writes, and over which speed is measured."""


class Recorder(Callback):
    """Writes a run's metrics, and a checkpoint when a phase begins."""

    def __init__(
        self,
        run: Run,
        checkpoints: TrainerCheckpoints,
        config: TrainConfig,
        on_saved: Callable[[], None],
        on_message: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.run, self.checkpoints, self.config = run, checkpoints, config
        self.on_saved, self.on_message = on_saved, on_message
        self._reported = 0
        """The changes of hyperedges that were reported."""
        self.last_step: int | None = None
        """The step of the last checkpoint."""

    def resume(self, file: Path, step: int) -> None:
        """Resumes from a checkpoint, whose agent a kill may have kept from getting its name."""
        self.last_step = step
        _link(file, self.run.out / AGENT_FILE)

    def where_to_resume(self) -> str:
        """Where a run that failed resumes."""
        if self.last_step is None:
            return "there is no checkpoint yet, so the same command starts over"
        return (
            f"the last good checkpoint is at step {self.last_step:,}; rerun the same command to "
            f"resume from it"
        )

    def on_start(self, trainer: Trainer) -> bool | None:
        """Changes of an earlier session have been reported."""
        self._reported = len(trainer.changes)
        return None

    def save_agent(self, trainer: Trainer, file: Path) -> None:
        """Writes the agent alone into a file."""
        save(file, AgentFile.of(self.config.agent, trainer, self.config.no_action))

    def on_step(self, trainer: Trainer) -> bool | None:
        """Saves the run in the middle of a long phase."""
        for change in trainer.changes[self._reported :]:
            self.on_message(change["message"])
        self._reported = len(trainer.changes)
        interval = self.config.checkpoint_steps
        since = trainer.step - max(trainer.phase.first, self.last_step or 0)
        # Once a phase has its steps it may be over now, which is known only later.
        inside = trainer.step - trainer.phase.first < self.config.phase_steps
        is_due = trainer.services.is_save_asked or (interval and since >= interval)
        if is_due and inside and trainer.step < self.config.steps:
            self.save(trainer)
        return None

    def on_phase(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Logs the phase."""
        self.run.log("train", metrics)
        return None

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Logs the evaluation."""
        self.run.log("eval", metrics)
        return None

    def on_next_phase(self, trainer: Trainer) -> bool | None:
        """Saves the run."""
        self.save(trainer)
        return None

    def save(self, trainer: Trainer) -> None:
        """Writes a checkpoint, and its agent as a file of its own name."""
        config = self.config
        file = AgentFile.of(config.agent, trainer, config.no_action, with_arrays=False)
        if trainer.changes:
            about_vertices = {"sizes": list(trainer.env.actions.sizes), "changes": trainer.changes}
            write_json(self.run.out / STRUCTURE, about_vertices)
        run = {"metrics": self.run.metrics_mark()}
        _link(self.checkpoints.write(trainer, run, file.about()), self.run.out / AGENT_FILE)
        self.last_step, trainer.services.is_save_asked = trainer.step, False
        self.on_saved()


def _link(file: Path, name: Path) -> None:
    """Gives a file another name, in place of what has it; nothing is copied where it can be."""
    part = name.with_name(name.name + ".part")
    part.unlink(missing_ok=True)
    if name.exists() and name.samefile(file):
        return  # Renaming one name of a file to another one of it does nothing.
    try:
        try:
            os.link(file, part)
        except OSError:
            shutil.copyfile(file, part)
        os.replace(part, name)
    finally:
        part.unlink(missing_ok=True)


class ProgressReporter(Callback):
    """Reports the progress now and then, and writes it to a file for others."""

    def __init__(self, run: Run, steps: int, on_progress: OnProgress) -> None:
        self.run, self.steps, self.on_progress = run, steps, on_progress
        self.last_return: float | None = None
        self._history: deque[tuple[float, int]] = deque()
        self._reported = self._written = -math.inf

    def on_start(self, trainer: Trainer) -> bool | None:
        """Reports the start."""
        if self.last_return is None:
            self.last_return = read_progress(self.run.out).last_return
        self.report(trainer)
        return None

    def on_step(self, trainer: Trainer) -> bool | None:
        """Reports, if the last report is some time ago."""
        now = time.monotonic()
        if now - self._reported >= REPORT_EVERY_S:
            self._reported = now
            self.on_progress(self._progress(trainer, now))
        if now - self._written >= WRITE_EVERY_S:
            self._written = now
            self._write(self._progress(trainer, now))
        return None

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Remembers the return."""
        self.last_return = metrics["return"]
        return None

    def on_phase(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Remembers the return, until that of an evaluation is known."""
        self.last_return = metrics.get("return", self.last_return)
        return None

    def on_next_phase(self, trainer: Trainer) -> bool | None:
        """Reports the end of the phase."""
        self.report(trainer)
        return None

    def report(self, trainer: Trainer, *, is_over: bool = False) -> None:
        """Reports and writes the progress now.

        Args:
            trainer: What is trained.
            is_over: Whether no more steps are wanted, however many were asked for.
        """
        progress = self._progress(trainer, time.monotonic())
        progress = progress._replace(complete=progress.complete or is_over)
        self.on_progress(progress)
        self._write(progress)

    def _write(self, progress: Progress) -> None:
        self.run.check_in_place()
        write_progress(self.run.out, progress)

    def _progress(self, trainer: Trainer, now: float) -> Progress:
        self._history.append((now, trainer.step))
        while len(self._history) > 2 and now - self._history[0][0] > SPEED_WINDOW_S:
            self._history.popleft()
        then, first = self._history[0]
        speed = (trainer.step - first) / max(now - then, 1e-9)
        return Progress(trainer.step, speed, self.last_return, is_complete(trainer, self.steps))
