"""The whole study: cells trained by worker processes, one core each.

The workers are not those of sweeps, which start a new process per run: a worker here trains many
short cells one after the other, so that JAX is imported once per core.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

import numpy as np
from numpy.typing import NDArray

from hyperaction.runs.lock import locked
from hyperaction.studies.bandits.files import (
    cell_file,
    check_settings,
    load_errors,
    load_reward_rms,
    write_settings,
)
from hyperaction.studies.bandits.settings import BanditStudy, Cell
from hyperaction.training.interrupts import StoppedError, stoppable

OnProgress = Callable[[Cell, int], None]
"""Receives a cell and the number of iterations that it has finished."""

Errors = dict[Cell, NDArray[np.float32]]

POLL_S = 0.2
"""Seconds between checks for Ctrl-C while no worker reports."""


def run(
    study: BanditStudy, on_progress: OnProgress
) -> tuple[Errors, dict[int, NDArray[np.float32]]]:
    """Trains every unfinished cell; returns the errors of all, and the RMS rewards by size."""
    check_settings(study)
    with stoppable() as is_stopping, locked(study.out):
        write_settings(study)
        unfinished = []
        for cell in study.cells:
            file = cell_file(study.out, cell)
            done = load_errors(file).shape[1] if file.exists() else 0
            on_progress(cell, done)
            if done < study.iterations:
                unfinished.append(cell)
        # The longest first, so that no core is idle at the end.
        queue = sorted(unfinished, key=lambda cell: cell.cost)
        _train(study, queue, on_progress, is_stopping)
        errors = {cell: load_errors(cell_file(study.out, cell)) for cell in study.cells}
        scales = {c.size: load_reward_rms(cell_file(study.out, c)) for c in study.cells}
    return errors, scales


def _train(
    study: BanditStudy,
    queue: list[Cell],
    on_progress: OnProgress,
    is_stopping: Callable[[], bool],
) -> None:
    """Trains the cells of a queue, from its end."""
    with _workers(study, min(study.jobs, len(queue))) as connections:
        busy: dict[Connection, Cell] = {}
        for connection in connections:
            _assign(connection, queue, busy)
        while busy:
            if is_stopping():
                raise StoppedError("stopped")
            for ready in wait(list(busy), timeout=POLL_S):
                assert isinstance(ready, Connection)
                done = _receive(ready, busy[ready])
                on_progress(busy[ready], done)
                if done == study.iterations:
                    del busy[ready]
                    _assign(ready, queue, busy)


def _assign(connection: Connection, queue: list[Cell], busy: dict[Connection, Cell]) -> None:
    if queue:
        busy[connection] = cell = queue.pop()
        connection.send(cell)


def _receive(connection: Connection, cell: Cell) -> int:
    """The iterations that a worker reports; raises what went wrong there."""
    try:
        message = connection.recv()
    except (EOFError, ConnectionError):
        raise RuntimeError(
            f"the process training {cell.model} at size {cell.size} died (out of memory?); rerun "
            f"the same command to resume, perhaps with fewer --jobs"
        ) from None
    if isinstance(message, str):
        raise RuntimeError(message)
    return int(message)


@contextmanager
def _workers(study: BanditStudy, count: int) -> Iterator[list[Connection]]:
    """Worker processes, which are killed at the end."""
    context = multiprocessing.get_context("spawn")
    connections, processes = [], []
    try:
        for number in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(study, number, theirs), daemon=True)
            with _interrupts_blocked():
                process.start()
            theirs.close()
            connections.append(ours)
            processes.append(process)
        yield connections
    finally:
        for process in processes:
            process.kill()
            process.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Blocks Ctrl-C: processes started meanwhile never receive it, this one does afterwards."""
    resource_tracker.ensure_running()  # Starting it unblocks Ctrl-C.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _work(study: BanditStudy, number: int, connection: Connection) -> None:
    """Trains the cells that it receives, and sends the iterations done."""
    _use_one_core(number)
    # JAX counts the cores when it is imported, so it is imported after pinning.
    from hyperaction.studies.bandits.cells import train_cell

    try:
        while True:
            for done in train_cell(study, connection.recv()):
                connection.send(done)
    except (EOFError, ConnectionError):
        pass  # The parent process has ended.
    except (OSError, ValueError) as error:
        connection.send(str(error))


def _use_one_core(number: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
