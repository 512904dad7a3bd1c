"""A grid on its way: which cells wait, run, are done or have failed, whoever runs them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from hyperaction.runs.progress import Progress, read_progress
from hyperaction.runs.remote import url_of
from hyperaction.sweeps.grid import Cell

State = Literal["waiting", "queued", "running", "done", "failed"]
"""Queued is what was handed over to workers that have a queue of their own."""

OPEN: tuple[State, ...] = ("waiting", "queued", "running")

LOOK_EVERY, REMOTE_LOOK_EVERY = 0.5, 10.0
"""Seconds between looks at the cells; those elsewhere are looked at less often."""


class Workers(Protocol):
    """What runs cells."""

    queues: ClassVar[bool]
    """Whether cells that were started may wait."""

    @property
    def count(self) -> int:
        """Cells that run at once, as far as is known."""
        ...

    def start(self, cell: Cell, out: Path) -> None:
        """Runs a cell, or takes it up again, in its directory."""
        ...

    def is_free(self) -> bool:
        """Whether another cell can be started."""
        ...

    def ended(self) -> Iterable[tuple[Cell, str]]:
        """Cells that ended since this was asked last, and what they said about it."""
        ...

    def stop(self) -> list[Cell]:
        """Asks all cells to save and stop, and waits for them; those that did not."""
        ...

    def kill(self) -> None:
        """Ends all cells now."""
        ...


class Place:
    """A cell in the sweep."""

    def __init__(self, cell: Cell, out: Path) -> None:
        self.cell, self.out = cell, out / cell.name
        self._pause = REMOTE_LOOK_EVERY if url_of(out) else 0.0
        self._looked = -math.inf
        self.state: State = "waiting"
        self.attempts = 0
        self.reason = ""
        """What it said when it died last."""
        self.progress = Progress()
        self.look()
        if self.is_complete:
            self.state = "done"

    def look(self, *, force: bool = False) -> None:
        """Reads how far the cell is, if that was not done just now."""
        if force or time.monotonic() - self._looked >= self._pause:
            self.progress = read_progress(self.out)
            self._looked = time.monotonic()

    @property
    def is_complete(self) -> bool:
        """Whether its run has all its steps."""
        return self.progress.complete and self.progress.step >= self.cell.steps

    @property
    def left(self) -> int:
        """Steps that it has still to do."""
        return max(0, self.cell.steps - self.progress.step) if self.state in OPEN else 0


class Sweep:
    """The cells of a grid, and what runs them.

    Args:
        cells: The runs.
        out: The directory for all of them.
        workers: What runs them.
        retries: How often a cell that died is taken up again from its checkpoint.
    """

    def __init__(self, cells: Sequence[Cell], out: Path, workers: Workers, retries: int) -> None:
        self.workers, self.retries = workers, retries
        self.places = [Place(cell, out) for cell in cells]
        self._of = {place.cell: place for place in self.places}

    def run(self, show: Callable[[Sweep], None], stopping: Callable[[], bool]) -> list[Cell]:
        """Runs everything that is not done yet, until it is asked to stop.

        The cells that were then ended without saving.
        """
        try:
            while any(place.state in OPEN for place in self.places):
                if stopping():
                    return self.workers.stop()
                self._start()
                time.sleep(LOOK_EVERY)
                self._look()
                show(self)
        except BaseException:
            self.workers.kill()
            raise
        return []

    def in_state(self, state: State) -> list[Place]:
        """The cells that are in a state."""
        return [place for place in self.places if place.state == state]

    def seconds_left(self) -> float | None:
        """How long the rest will take, from the speeds seen so far; nothing if none was."""
        seen = [place for place in self.places if place.progress.steps_per_second]
        if not seen:
            return None
        every = _mean(seen)
        kinds: dict[tuple[str, str], list[Place]] = {}
        for place in seen:
            kinds.setdefault((place.cell.env, place.cell.agent), []).append(place)
        speeds = {kind: _mean(places) for kind, places in kinds.items()}
        works = [
            place.left / speeds.get((place.cell.env, place.cell.agent), every)
            for place in self.places
        ]
        return max(sum(works) / max(1, self.workers.count), max(works))

    def _start(self) -> None:
        for place in self.in_state("waiting"):
            if not self.workers.is_free():
                break
            place.state = "queued" if self.workers.queues else "running"
            place.attempts += 1
            try:
                self.workers.start(place.cell, place.out)
            except OSError as error:
                place.state, place.reason = "failed", str(error)

    def _look(self) -> None:
        for place in self.in_state("running"):
            place.look()
        for place in self.in_state("queued"):
            before = place.progress
            place.look()
            if place.progress != before:
                place.state = "running"
        for cell, said in self.workers.ended():
            place = self._of[cell]
            place.look(force=True)
            if place.is_complete:
                place.state, place.reason = "done", ""
                continue
            place.reason = said
            place.state = "waiting" if place.attempts <= self.retries else "failed"


def _mean(places: list[Place]) -> float:
    """The mean speed, as the time that all their steps take together."""
    return len(places) / sum(1 / place.progress.steps_per_second for place in places)
