"""What is written as a run goes: metrics, checkpoints, progress."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hyperaction.checkpointing import snapshot
from hyperaction.options import TrainOptions
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints, Growth
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.runs.progress import Progress, read_progress, write_progress
from hyperaction.saving import Saved, about
from hyperaction.training import Callback, Training, is_complete

Listener = Callable[[Progress], None]
"""Told how far a run is."""

TOLD_EVERY, WRITTEN_EVERY, WINDOW = 0.5, 2.0, 30.0
"""Seconds between tellings, between writings, and over which speed is measured."""


class Recorder(Callback):
    """Writes a run's metrics, and a checkpoint when a phase begins."""

    def __init__(
        self,
        run: Run,
        checkpoints: Checkpoints,
        options: TrainOptions[Any],
        saved: Callable[[], None],
    ) -> None:
        self.run, self.checkpoints, self.options, self.saved = run, checkpoints, options, saved
        self.replay_saved: dict[str, int] = {}
        self.step: int | None = None
        """The last checkpoint's."""

    def go_on(self, training: Training) -> None:
        """The training is the last checkpoint's."""
        self.replay_saved = {name: each.added for name, each in training.ring.streams.items()}
        self.step = training.step

    def told(self) -> str:
        """Where a run that failed can go on."""
        if self.step is None:
            return "there is no checkpoint yet, so the same command starts over"
        return (
            f"the last good checkpoint is that of step {self.step:,}, from which the same command "
            f"goes on"
        )

    def on_step(self, training: Training) -> bool | None:
        """Saves the run in the middle of a long phase."""
        period = self.options.checkpoint_steps
        since = training.step - max(training.phase.first, self.step or 0)
        # Once a phase has its steps it may be over now, which is known only later.
        inside = training.step - training.phase.first < self.options.phase_steps
        if period and since >= period and inside:
            self.on_next_phase(training)
        return None

    def on_phase(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Logs the phase."""
        self.run.log("train", metrics)
        return None

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Logs the evaluation."""
        self.run.log("eval", metrics)
        return None

    def on_next_phase(self, training: Training) -> bool | None:
        """Saves the run, and the agent for whoever wants to play it."""
        state_file = self.save(training)
        agent_file = self.run.out / AGENT_FILE
        part = agent_file.with_name(AGENT_FILE + ".part")
        part.unlink(missing_ok=True)
        try:
            os.link(state_file, part)  # The same file by another name: nothing is copied.
        except OSError:
            shutil.copyfile(state_file, part)
        os.replace(part, agent_file)
        self.saved()
        return None

    def save(self, training: Training) -> Path:
        """Writes a checkpoint; the file that holds its arrays."""
        state, arrays = snapshot(training)
        state["metrics_bytes"] = self.run.metrics_bytes()
        env = training.env
        saved = Saved(
            self.options.agent,
            training.settings,
            env.actions,
            env.observation_shape,
            training.step,
            {},
        )
        state["agent"] = about(saved)
        replay = {}
        for name, stream in training.ring.streams.items():
            first = max(self.replay_saved.get(name, 0), stream.oldest)
            replay[name] = Growth(first, stream.added, stream.oldest, stream.between)
        file = self.checkpoints.write(state, arrays, replay)
        self.go_on(training)
        return file


class Teller(Callback):
    """Tells the progress now and then, and leaves it in a file for others."""

    def __init__(self, out: Path, steps: int, listener: Listener) -> None:
        self.out, self.steps, self.listener = out, steps, listener
        self.last: float | None = None
        self._seen: deque[tuple[float, int]] = deque()
        self._told = self._written = -math.inf

    def on_start(self, training: Training) -> bool | None:
        """Counts from here."""
        self.last = self.last if self.last is not None else read_progress(self.out).last_return
        progress = self._progress(training, time.monotonic())
        self.listener(progress)
        write_progress(self.out, progress)
        return None

    def on_step(self, training: Training) -> bool | None:
        """Tells, if it was some time ago."""
        now = time.monotonic()
        if now - self._told >= TOLD_EVERY:
            self._told = now
            self.listener(self._progress(training, now))
        if now - self._written >= WRITTEN_EVERY:
            self._written = now
            write_progress(self.out, self._progress(training, now))
        return None

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Remembers the return."""
        self.last = metrics["return"]
        return None

    def on_phase(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Remembers the return, until that of an evaluation is known."""
        self.last = metrics.get("return", self.last)
        return None

    def on_next_phase(self, training: Training) -> bool | None:
        """Tells how far it is now."""
        progress = self._progress(training, time.monotonic())
        self.listener(progress)
        write_progress(self.out, progress)
        return None

    def _progress(self, training: Training, now: float) -> Progress:
        self._seen.append((now, training.step))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        then, first = self._seen[0]
        speed = (training.step - first) / max(now - then, 1e-9)
        return Progress(training.step, speed, self.last, is_complete(training, self.steps))
