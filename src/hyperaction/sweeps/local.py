"""Cells as processes of this machine, each on a core of its own."""

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
from hyperaction.sweeps.grid import Cell

OUTPUT = "output.txt"
"""What a cell's command prints, in its directory."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""What NumPy's kernels are told; those of JAX use one thread in every run."""

TIED = (sys.executable, "-m", "hyperaction.sweeps.tied")
"""What runs a command that ends with this process."""

LAST_WORDS = 10_000
"""Bytes from the end of a cell's output among which its last line is."""

PATIENCE = 60.0
"""Seconds that cells have to save when they are asked to stop."""


class Local:
    """Processes pinned to cores, one each.

    Args:
        count: How many run at once; the cores that this process may use, if it is 0.
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
        """Starts the command of the cell in the first free slot."""
        slot = next(slot for slot in range(self.count) if slot not in self._running)
        folder = here(out)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / OUTPUT).open("ab") as output:
            process = subprocess.Popen(
                [*TIED, str(os.getpid()), "train", *cell.args, "--out", str(out)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ONE_THREAD, "COLUMNS": "200"},
                start_new_session=True,  # Ctrl-C is for the sweep, which asks its cells to stop.
            )
        if self._cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, {self._cores[slot % len(self._cores)]})
        self._running[slot] = (cell, process, folder)

    def ended(self) -> Iterable[tuple[Cell, str]]:
        """Cells whose process ended, and the last line that it printed."""
        for slot, (cell, process, out) in list(self._running.items()):
            if process.poll() is not None:
                del self._running[slot]
                yield cell, _last_line(out / OUTPUT, process.returncode)

    def stop(self) -> list[Cell]:
        """Asks all processes to save and stop; after some patience it ends them."""
        killed = []
        for _, process, _ in self._running.values():
            process.send_signal(signal.SIGTERM)
        until = time.monotonic() + PATIENCE
        for cell, process, _ in self._running.values():
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                killed.append(cell)
                _end(process)
        return killed

    def kill(self) -> None:
        """Ends all processes now."""
        for _, process, _ in self._running.values():
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a cell, and what its environment may have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _last_line(file: Path, code: int) -> str:
    with file.open("rb") as output:
        output.seek(max(0, file.stat().st_size - LAST_WORDS))
        lines = output.read().decode(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if said.startswith("hyperaction: "):
        return said.removeprefix("hyperaction: ")
    return f"it ended with code {code}: {said}"
