"""Cells as tasks of a Ray cluster, which decides where they run and finishes them elsewhere.

All nodes see the sweep's directory under the same path. A cell whose worker or node dies is run
again by Ray, and takes up its run from the last checkpoint.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import ray

from hyperaction.runs.remote import url_of
from hyperaction.sweeps.grid import Cell
from hyperaction.sweeps.local import ONE_THREAD, PATIENCE


class Cluster:
    """A Ray cluster, which keeps a queue of its own.

    Args:
        address: `auto` joins the cluster of this machine, `local` starts one; or an address.
        retries: How often Ray runs a cell again whose worker or node died.
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
            if address == "local":
                ray.init(address="local", include_dashboard=False, **common)
            else:
                ray.init(address=address, **common)
        except (ConnectionError, ValueError, RuntimeError) as error:
            said = str(error).strip().split("\n")[0]
            raise ValueError(f"--ray {address}: no cluster was reached ({said})") from None
        self._running: dict[Any, Cell] = {}
        # A worker is used once: what JAX keeps of one run is no load for the next.
        self._train = ray.remote(
            num_cpus=1, max_calls=1, max_retries=retries, retry_exceptions=False
        )(_train)

    @property
    def count(self) -> int:
        """The cores of the cluster as it is now."""
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        return max(1, int(resources.get("CPU", 1)))

    def is_free(self) -> bool:
        """Ray keeps its own queue."""
        return True

    def start(self, cell: Cell, out: Path) -> None:
        """Hands the cell to Ray."""
        path = out if url_of(out) else out.resolve()
        self._running[self._train.remote(cell, str(path))] = cell

    def ended(self) -> Iterable[tuple[Cell, str]]:
        """Cells that ended, and why if something was wrong."""
        if not self._running:
            return
        done, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        for reference in done:
            yield self._running.pop(reference), _said(reference)

    def stop(self) -> list[Cell]:
        """Asks all cells to save and stop, and waits for them some time."""
        if not self._running:
            return []
        for reference in self._running:
            ray.cancel(reference)
        count = len(self._running)
        _, left = ray.wait(list(self._running), num_returns=count, timeout=PATIENCE)
        return [self._running[reference] for reference in left]

    def kill(self) -> None:
        """Ends all cells now."""
        for reference in self._running:
            with suppress(Exception):
                ray.cancel(reference, force=True)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        ray.shutdown()


def _train(cell: Cell, out: str) -> str:
    """A cell, on whichever node this is; what went wrong, if something did."""
    from dataclasses import replace

    from hyperaction.running.executing import execute
    from hyperaction.stopping import StoppedError

    try:
        execute(replace(cell.options, out=Path(out)))
    except (StoppedError, ValueError, RuntimeError, OSError) as error:
        return str(error)
    except (Exception, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _said(reference: Any) -> str:
    try:
        return str(ray.get(reference))
    except ray.exceptions.RayError as error:
        return str(error).strip().split("\n")[0]


def _python_path() -> str:
    """Where this process finds its modules, and with them those of `module:Id`."""
    here = [path for path in sys.path if path and os.path.isdir(path)]
    return os.pathsep.join([os.getcwd(), *here])
