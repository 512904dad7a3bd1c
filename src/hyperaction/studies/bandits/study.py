"""The whole study: cells trained by worker processes, one core each."""

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

from hyperaction.studies.bandits.files import cell_file, claim, load_errors, load_reward_rms
from hyperaction.studies.bandits.settings import BanditStudy, Cell

Progress = Callable[[Cell, int], None]
Errors = dict[Cell, NDArray[np.float32]]


def run(study: BanditStudy, progress: Progress) -> tuple[Errors, dict[int, NDArray[np.float32]]]:
    """Trains every cell that is not finished; the errors of all, and the rewards' size by size.

    Calls `progress` with a cell and the iterations it has done.
    """
    claim(study)
    waiting = []
    for cell in study.cells:
        file = cell_file(study.out, cell)
        done = load_errors(file).shape[1] if file.exists() else 0
        progress(cell, done)
        if done < study.iterations:
            waiting.append(cell)
    # Longest first, so that no core idles at the end.
    _train(study, sorted(waiting, key=lambda cell: cell.cost), progress)
    errors = {cell: load_errors(cell_file(study.out, cell)) for cell in study.cells}
    scales = {c.size: load_reward_rms(cell_file(study.out, c)) for c in study.cells}
    return errors, scales


def _train(study: BanditStudy, waiting: list[Cell], progress: Progress) -> None:
    with _workers(study, min(study.jobs, len(waiting))) as connections:
        busy: dict[Connection, Cell] = {}
        for connection in connections:
            _next(connection, waiting, busy)
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                cell = busy[ready]
                try:
                    message = ready.recv()
                except (EOFError, ConnectionError):
                    raise RuntimeError(
                        f"the process training {cell.model} at size {cell.size} died (out of "
                        f"memory?); run the same command to continue, perhaps with fewer --jobs"
                    ) from None
                if isinstance(message, str):
                    raise RuntimeError(message)
                progress(cell, message)
                if message == study.iterations:
                    del busy[ready]
                    _next(ready, waiting, busy)


def _next(connection: Connection, waiting: list[Cell], busy: dict[Connection, Cell]) -> None:
    if waiting:
        busy[connection] = cell = waiting.pop()
        connection.send(cell)


@contextmanager
def _workers(study: BanditStudy, count: int) -> Iterator[list[Connection]]:
    """Worker processes that are surely gone afterwards."""
    context = multiprocessing.get_context("spawn")
    connections, processes = [], []
    try:
        for number in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(study, number, theirs), daemon=True)
            with _ctrl_c_held_back():
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
def _ctrl_c_held_back() -> Iterator[None]:
    """Ctrl-C waits; processes started meanwhile never see it, for the parent stops them."""
    resource_tracker.ensure_running()  # Starting it would let Ctrl-C through again.
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if held:
        raise KeyboardInterrupt


def _work(study: BanditStudy, number: int, connection: Connection) -> None:
    """Trains the cells that come through the connection and sends back the iterations done."""
    _use_one_core(number)
    # Only now: JAX counts the cores when it is imported.
    from hyperaction.studies.bandits.cells import train_cell

    try:
        while True:
            for done in train_cell(study, connection.recv()):
                connection.send(done)
    except (EOFError, ConnectionError):
        pass  # The parent is gone.
    except (OSError, ValueError) as error:
        connection.send(str(error))


def _use_one_core(number: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
