"""Runs cells as processes on this machine, each on its own core."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from hyperaction.runs.remote import here
from hyperaction.sweeps import child
from hyperaction.sweeps.grid import Cell

OUTPUT = "output.txt"
"""The file for the output of a cell, in its directory."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Limits NumPy to one thread; JAX uses one thread in every run anyway."""

CHILD = (sys.executable, "-P", child.__file__)
"""Runs a command that stops when this process ends; no library is looked for where it starts."""

TAIL_BYTES = 10_000
"""Bytes at the end of the output of a cell that are searched for its last line."""

STOP_TIMEOUT_S = 60.0
"""Seconds that cells have to save when they are asked to stop."""


class Local:
    """Processes pinned to one core each.

    Args:
        count: How many run at once; 0 is one per core that this process may use.
    """

    queues: ClassVar[bool] = False

    def __init__(self, count: int = 0) -> None:
        self._cores = _cores()
        self.count = count or len(self._cores)
        self._running: dict[int, tuple[Cell, subprocess.Popen[bytes], Path]] = {}

    def is_free(self) -> bool:
        """Whether a slot is free."""
        return len(self._running) < self.count

    def start(self, cell: Cell, out: Path) -> None:
        """Starts the command of the cell in a free slot."""
        slot = next(slot for slot in range(self.count) if slot not in self._running)
        folder = here(out)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / OUTPUT).open("ab") as output:
            process = subprocess.Popen(
                [*CHILD, str(os.getpid()), *cell.command, "--out", str(out)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ONE_THREAD, "COLUMNS": "200"},
                start_new_session=True,  # The sweep receives Ctrl-C and asks its cells to stop.
            )
        if self._cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, {self._cores[slot % len(self._cores)]})
        self._running[slot] = (cell, process, folder)

    def ended(self) -> Iterable[tuple[Cell, str]]:
        """Cells whose process ended, each with the last line that it printed."""
        for slot, (cell, process, out) in list(self._running.items()):
            if process.poll() is not None:
                del self._running[slot]
                yield cell, _last_line(out / OUTPUT, process.returncode)

    def stop_cell(self, cell: Cell) -> None:
        """Asks the process of one cell to save and stop."""
        for running, process, _ in self._running.values():
            if running == cell:
                process.send_signal(signal.SIGTERM)

    def stop(self) -> list[Cell]:
        """Asks all processes to save and stop; kills those that time out, and returns them."""
        killed = []
        for _, process, _ in self._running.values():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        for cell, process, _ in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                killed.append(cell)
                _kill(process)
        return killed

    def kill(self) -> None:
        """Kills all processes."""
        for _, process, _ in self._running.values():
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a cell, and any process that its environment started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _last_line(file: Path, code: int) -> str:
    with file.open("rb") as output:
        output.seek(max(0, file.stat().st_size - TAIL_BYTES))
        lines = output.read().decode(errors="replace").split("\n")
    message = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if message.startswith("hyperaction: "):
        return message.removeprefix("hyperaction: ")
    return f"exit code {code}: {message}"
