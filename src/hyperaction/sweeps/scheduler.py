"""Schedules the cells of a grid on workers of any kind, and keeps track of their states."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from hyperaction.runs.progress import Progress, read_progress
from hyperaction.runs.remote import url_of
from hyperaction.sweeps.grid import Cell

State = Literal["waiting", "queued", "running", "done", "failed", "stopped"]
"""A queued cell was handed to workers that have their own queue; a stopped one is not resumed."""

OPEN: tuple[State, ...] = ("waiting", "queued", "running")

POLL_INTERVAL_S, REMOTE_POLL_INTERVAL_S = 0.5, 10.0
"""Seconds between reads of the progress of cells, on this machine and elsewhere."""


class Workers(Protocol):
    """Runs cells."""

    queues: ClassVar[bool]
    """Whether cells that were started may have to wait."""

    @property
    def count(self) -> int:
        """The number of cells that can run at once."""
        ...

    def start(self, cell: Cell, out: Path) -> None:
        """Starts or resumes a cell in its directory."""
        ...

    def is_free(self) -> bool:
        """Whether another cell can be started."""
        ...

    def ended(self) -> Iterable[tuple[Cell, str]]:
        """Cells that ended since the last call, each with its last message."""
        ...

    def stop_cell(self, cell: Cell) -> None:
        """Asks one cell to save and stop; it is among those that ended once it has."""
        ...

    def stop(self) -> list[Cell]:
        """Asks all cells to save and stop, and waits; returns those that did not."""
        ...

    def kill(self) -> None:
        """Kills all cells."""
        ...


class Job:
    """A cell of the sweep and its state."""

    def __init__(self, cell: Cell, out: Path) -> None:
        self.cell, self.out = cell, out / cell.name
        self._interval = REMOTE_POLL_INTERVAL_S if url_of(out) else 0.0
        self._read_at = -math.inf
        self.state: State = "waiting"
        self.attempts = 0
        self.is_stopping = False
        """Whether it was asked to stop, by itself."""
        self.reason = ""
        """Its last message when it died."""
        self.progress = Progress()
        self.refresh()
        if self.is_complete:
            self.state = "done"

    def refresh(self, *, force: bool = False) -> None:
        """Reads the progress of the cell, unless that was done recently."""
        if force or time.monotonic() - self._read_at >= self._interval:
            self.progress = read_progress(self.out)
            self._read_at = time.monotonic()

    @property
    def is_complete(self) -> bool:
        """Whether its run has finished all its steps."""
        return self.progress.complete and self.progress.step >= self.cell.steps

    @property
    def left(self) -> int:
        """The number of steps that remain."""
        return max(0, self.cell.steps - self.progress.step) if self.state in OPEN else 0


class Sweep:
    """The cells of a grid and the workers that run them.

    Args:
        cells: The cells.
        out: The directory for all of them.
        workers: The workers.
        retries: How often a cell that died is resumed from its checkpoint.
    """

    def __init__(self, cells: Sequence[Cell], out: Path, workers: Workers, retries: int) -> None:
        self.out, self.workers, self.retries = out, workers, retries
        self.jobs = [Job(cell, out) for cell in cells]
        self._by_cell = {job.cell: job for job in self.jobs}

    def run(
        self,
        show: Callable[[Sweep], None],
        is_stopping: Callable[[], bool],
        plan: Callable[[Sweep], None] = lambda sweep: None,
    ) -> list[Cell]:
        """Runs all unfinished cells until they are done or it is asked to stop.

        Args:
            show: Is called regularly to show the state of the sweep.
            is_stopping: Whether to stop.
            plan: Is called before cells are started; it may add some, or stop some.

        Returns:
            The cells that were killed because they did not save in time.
        """
        try:
            while True:
                plan(self)
                if not self.open_jobs():
                    break
                if is_stopping():
                    return self.workers.stop()
                self._start()
                time.sleep(POLL_INTERVAL_S)
                self._update()
                show(self)
        except BaseException:
            self.workers.kill()
            raise
        return []

    def add(self, cell: Cell) -> Job:
        """Adds a cell that is to be run too."""
        job = Job(cell, self.out)
        self.jobs.append(job)
        self._by_cell[cell] = job
        return job

    def stop(self, job: Job) -> None:
        """Asks one cell to save and stop for good."""
        if job.state in OPEN and not job.is_stopping:
            job.is_stopping = True
            self.workers.stop_cell(job.cell)

    def open_jobs(self) -> list[Job]:
        """The jobs that are not at their end."""
        return [job for job in self.jobs if job.state in OPEN]

    def fail(self, cell: Cell, reason: str) -> None:
        """Leaves out a cell that cannot run."""
        job = self._by_cell[cell]
        job.state, job.reason = "failed", reason

    def in_state(self, state: State) -> list[Job]:
        """The jobs in a state."""
        return [job for job in self.jobs if job.state == state]

    def seconds_left(self) -> float | None:
        """The estimated time left, from the speeds measured so far; None if there is none."""
        measured = [job for job in self.jobs if job.progress.steps_per_second]
        if not measured:
            return None
        overall = _mean_speed(measured)
        kinds: dict[tuple[str, str], list[Job]] = {}
        for job in measured:
            kinds.setdefault((job.cell.env, job.cell.agent), []).append(job)
        speeds = {kind: _mean_speed(jobs) for kind, jobs in kinds.items()}
        times = [
            job.left / speeds.get((job.cell.env, job.cell.agent), overall) for job in self.jobs
        ]
        return max(sum(times) / max(1, self.workers.count), max(times))

    def _start(self) -> None:
        for job in self.in_state("waiting"):
            if not self.workers.is_free():
                break
            job.state = "queued" if self.workers.queues else "running"
            job.attempts += 1
            try:
                self.workers.start(job.cell, job.out)
            except OSError as error:
                job.state, job.reason = "failed", str(error)

    def _update(self) -> None:
        for job in self.in_state("running"):
            job.refresh()
        for job in self.in_state("queued"):
            before = job.progress
            job.refresh()
            if job.progress != before:
                job.state = "running"
        for cell, message in self.workers.ended():
            job = self._by_cell[cell]
            job.refresh(force=True)
            if job.is_complete:
                job.state, job.reason = "done", ""
                continue
            if job.is_stopping:
                job.state = "stopped"
                continue
            job.reason = message
            job.state = "waiting" if job.attempts <= self.retries else "failed"


def _mean_speed(jobs: list[Job]) -> float:
    """The harmonic mean of the speeds."""
    return len(jobs) / sum(1 / job.progress.steps_per_second for job in jobs)
