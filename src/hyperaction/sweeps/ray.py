"""Runs cells as tasks of a Ray cluster.

All nodes see the directory of the sweep under the same path. Ray restarts a cell whose worker or
node dies, and the cell resumes from its last checkpoint.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import chdir, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import ray

from hyperaction.baselines.runner import run as run_baseline
from hyperaction.runs.remote import url_of
from hyperaction.sweeps.grid import Cell
from hyperaction.sweeps.local import ONE_THREAD, STOP_TIMEOUT_S
from hyperaction.training.interrupts import StoppedError
from hyperaction.training.runner import run

PACKAGES = Path(__file__).parents[2]
"""Where this package is."""


class Cluster:
    """A Ray cluster, which has its own queue.

    Args:
        address: An address; `auto` joins the cluster of this machine, `local` starts one.
        retries: How often Ray restarts a cell whose worker or node died.
    """

    queues: ClassVar[bool] = True

    def __init__(self, address: str, retries: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        common: dict[str, Any] = {
            "log_to_driver": False,
            "logging_level": "ERROR",
            "runtime_env": {"env_vars": {**ONE_THREAD, "PYTHONPATH": _python_path()}},
        }
        try:
            # Nodes look for libraries first where this process is.
            with chdir(PACKAGES):
                if address == "local":
                    ray.init(address="local", include_dashboard=False, **common)
                else:
                    ray.init(address=address, **common)
        except Exception as error:  # Where a node does not start in time, Ray raises just that.
            ray.shutdown()
            message = str(error).strip().split("\n")[0]
            raise ValueError(f"--ray {address}: cannot reach a cluster ({message})") from None
        self._running: dict[Any, Cell] = {}
        # Each worker is used once, so that memory which JAX holds for a run is freed.
        self._train = ray.remote(
            num_cpus=1, max_calls=1, max_retries=retries, retry_exceptions=False
        )(_train)

    @property
    def count(self) -> int:
        """The current number of cores of the cluster."""
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        return max(1, int(resources.get("CPU", 1)))

    def is_free(self) -> bool:
        """Always true: Ray has its own queue."""
        return True

    def start(self, cell: Cell, out: Path) -> None:
        """Submits the cell to Ray."""
        path = out if url_of(out) else out.resolve()
        self._running[self._train.remote(cell, str(path), os.getcwd())] = cell

    def ended(self) -> Iterable[tuple[Cell, str]]:
        """Cells that ended, each with an error message if it failed."""
        if not self._running:
            return
        done, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        for reference in done:
            yield self._running.pop(reference), _message(reference)

    def stop_cell(self, cell: Cell) -> None:
        """Asks one cell to save and stop."""
        for reference, running in self._running.items():
            if running == cell:
                ray.cancel(reference)

    def stop(self) -> list[Cell]:
        """Asks all cells to save and stop, and waits; returns those that time out."""
        if not self._running:
            return []
        for reference in self._running:
            ray.cancel(reference)
        count = len(self._running)
        _, left = ray.wait(list(self._running), num_returns=count, timeout=STOP_TIMEOUT_S)
        return [self._running[reference] for reference in left]

    def kill(self) -> None:
        """Kills all cells."""
        for reference in self._running:
            with suppress(Exception):
                ray.cancel(reference, force=True)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        ray.shutdown()


def _train(cell: Cell, out: str, folder: str) -> str:
    """Runs a cell on a node; returns an error message if it failed.

    Args:
        cell: The cell.
        out: Its directory.
        folder: Where the sweep was started, and the module of `module:Id` may be.
    """
    try:
        with suppress(OSError):  # A node may not have it.
            os.chdir(folder)
        config = replace(cell.config, out=Path(out))
        run_baseline(cell.baseline, config) if cell.baseline else run(config)
    except (StoppedError, ValueError, RuntimeError, OSError) as error:
        return str(error)
    except (Exception, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _message(reference: Any) -> str:
    try:
        return str(ray.get(reference))
    except ray.exceptions.RayError as error:
        return str(error).strip().split("\n")[0]


def _python_path() -> str:
    """The module search path of this process, without where it was started."""
    here = [path for path in sys.path if path and os.path.isdir(path) and path != os.getcwd()]
    return os.pathsep.join(here)
