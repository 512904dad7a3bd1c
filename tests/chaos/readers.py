"""What reads runs must give a result or one line, whatever is in them."""

import shutil
from pathlib import Path

import pytest

from tests.chaos.commands import ViolationError, here
from tests.chaos.grid import CELLS, grid


def check_readers(trial):
    """Every reader gives a result or one line; a bad run does not spoil a good one."""
    commands = [READERS["table"], READERS["evaluate"]]
    if not trial.quick:
        slow = [READERS[name] for name in ("report", "compare", "explain", "sweep")]
        commands += trial.rng.sample(slow, 2)
    for command in commands:
        command(trial)
    trial.check_others()


def _table(trial):
    result = here("table", trial.runs).check()
    if result.code:
        raise ViolationError(f"a bad run spoils the table: {result.err.strip()}")


def _evaluate(trial):
    here("evaluate", trial.run, "--episodes", "1").check()


def _report(trial):
    result = here("report", trial.runs, "--out", trial.written / "report.html").check()
    if result.code:
        raise ViolationError(f"a bad run spoils the report: {result.err.strip()}")


def _compare(trial):
    here("compare", trial.run, "--out", trial.written / "compare.png").check()


def _explain(trial):
    out = trial.written / "explain"
    here("explain", trial.run, "--steps", "20", "--out", out).check()


def _sweep(trial):
    """A sweep reads how far its runs are before it starts any."""
    from hyperaction.sweeps.local import Local

    file = grid(trial.written, "Switches-v0")
    cell = trial.written / "sweep" / CELLS[0]
    shutil.copytree(trial.run, cell, symlinks=True, ignore=_fifos, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Local, "start", _no_worker)
        out = trial.written / "sweep"
        result = here("sweep", file, "--out", out, "--retries", "0", "--seeds", "1").check()
    results = cell / "metrics.jsonl"
    if not result.code and not (results.is_file() and results.stat().st_size):
        raise ViolationError("a sweep calls a run done whose results are gone")


def _fifos(folder, names):
    """What cannot be copied."""
    return [name for name in names if Path(folder, name).is_fifo()]


def _no_worker(self, cell, out):
    raise OSError("no process can be started")


READERS = {
    "table": _table,
    "evaluate": _evaluate,
    "report": _report,
    "compare": _compare,
    "explain": _explain,
    "sweep": _sweep,
}
