"""Training at the terminal: a bar, and a line for every evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hyperaction.errors import printable
from hyperaction.training.callbacks import Callback

if TYPE_CHECKING:
    from hyperaction.training.trainer import Trainer

SHOW_EVERY_S, LINE_EVERY_S = 0.5, 10.0
"""Seconds between changes of the bar, and between lines about phases."""


def progress_bar(console: Console, *more: str) -> Progress:
    """A progress bar with the time left; if the output is not a terminal, only its end."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("spent"),
        TimeElapsedColumn(),
        *(TextColumn(text) for text in more),
        console=console,
        speed_estimate_period=300,
    )


def status(steps_per_second: float, last_return: float | None) -> str:
    """How fast training is and how well it does, beside the bar."""
    speed = f"{steps_per_second:.0f} steps/s"
    return speed if last_return is None else f"{speed}, last return {last_return:.1f}"


class TrainingBar(Callback):
    """Shows how far training is.

    Args:
        first: The step that it begins at.
        steps: The step that it ends at.
        console: Where it is shown; the standard output by default.
    """

    def __init__(self, first: int, steps: int, console: Console | None = None) -> None:
        self.console = console or Console(markup=False, emoji=False, highlight=False)
        self.first, self.steps = first, steps
        self._bar = progress_bar(self.console, "{task.fields[more]}")
        self._task = self._bar.add_task("training", total=steps, completed=first, more="")
        self._shown = self._line = time.monotonic()
        self._began = time.monotonic(), first
        self._last_return: float | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside, the bar is shown."""
        with self._bar:
            yield

    def message(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(printable(text), soft_wrap=True)

    def on_start(self, trainer: Trainer) -> bool | None:
        """Where training begins."""
        self._began = time.monotonic(), trainer.step
        self._show(trainer)
        return None

    def on_step(self, trainer: Trainer) -> bool | None:
        """Moves the bar now and then."""
        if time.monotonic() - self._shown >= SHOW_EVERY_S:
            self._show(trainer)
        return None

    def on_phase(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Prints how episodes ended, where no bar shows it and the last line is some time ago."""
        now = time.monotonic()
        if "return" in metrics:
            self._last_return = metrics["return"]
        if not self.console.is_terminal and now - self._line >= LINE_EVERY_S:
            self._print("training", metrics)
        self._show(trainer)
        return None

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """Prints the evaluation."""
        self._last_return = metrics["return"]
        self._print("evaluation", metrics)
        self._show(trainer)
        return None

    def _print(self, what: str, metrics: dict[str, float]) -> None:
        self._line = time.monotonic()
        found = f"return {metrics['return']:.1f}" if "return" in metrics else "no episode ended"
        number = int(metrics["episodes"])
        count = "1 episode" if number == 1 else f"{number:,} episodes"
        self.message(f"step {metrics['step']:,.0f}: {what}, {found} ({count})")

    def _show(self, trainer: Trainer) -> None:
        self._shown = time.monotonic()
        then, first = self._began
        speed = (trainer.step - first) / max(self._shown - then, 1e-9)
        more = status(speed, self._last_return)
        self._bar.update(self._task, completed=min(trainer.step, self.steps), more=more)
