"""What is written as a run goes: metrics, checkpoints, progress."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hyperaction.checkpointing import snapshot
from hyperaction.options import TrainOptions
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.saving import Saved, about
from hyperaction.training import Callback, Training

Progress = Callable[[int, float | None], None]
"""Told the steps done and the last evaluation's return."""


class Recorder(Callback):
    """Writes a run's metrics, and a checkpoint when a phase begins."""

    def __init__(self, run: Run, checkpoints: Checkpoints, options: TrainOptions[Any]) -> None:
        self.run, self.checkpoints, self.options = run, checkpoints, options
        self.replay_saved = 0
        self.step: int | None = None
        """The last checkpoint's."""

    def go_on(self, training: Training) -> None:
        """The training is the last checkpoint's."""
        self.replay_saved, self.step = training.ring.added, training.step

    def told(self) -> str:
        """Where a run that failed can go on."""
        if self.step is None:
            return "there is no checkpoint yet, so the same command starts over"
        return (
            f"the last good checkpoint is that of step {self.step:,}, from which the same command "
            f"goes on"
        )

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
        ring = training.ring
        first = max(self.replay_saved, ring.oldest)
        file = self.checkpoints.write(
            state, arrays, ring.since(first), first=first, keep_from=ring.oldest
        )
        self.go_on(training)
        return file


class Teller(Callback):
    """Tells the progress now and then."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.last: float | None = None

    def on_step(self, training: Training) -> bool | None:
        if training.step % 200 < training.env.count:
            self.progress(training.step, self.last)
        return None

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        self.last = metrics["return"]
        self.progress(training.step, self.last)
        return None
