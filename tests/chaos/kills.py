"""Runs that are killed, asked to stop or suspended; none of it changes results."""

import signal
import time
from contextlib import suppress

import pytest

from hyperaction.training.config import parse_train
from tests.chaos.commands import Child, ViolationError, here
from tests.chaos.grid import CELLS, grid
from tests.chaos.trial import TRAIN
from tests.killing import KilledError, Killer, metrics, train_in


def moment(trial):
    """A run that dies at any moment, twice maybe, resumes to the same metrics."""
    config = parse_train(TRAIN[1:])
    moments = trial.references.moments
    with pytest.MonkeyPatch.context() as patch:
        killer = Killer(patch)
        for _ in range(trial.rng.choice((1, 1, 2, 3))):
            kind = trial.rng.choice(sorted(set(moments)))
            of_kind = [number for number, each in enumerate(moments) if each == kind]
            killer.left = trial.rng.choice(of_kind)
            trial.note(f"dies at moment {killer.left}, {kind}")
            with suppress(KilledError):
                train_in(trial.run, config)
            trial.plant()
    trial.check_resumes_same()


def kill(trial):
    """A process that is killed leaves a run that resumes, and no other process."""
    for _ in range(trial.rng.choice((1, 1, 2))):
        child = Child(trial.root / "child", *TRAIN, "--out", trial.run)
        _wait(trial, child)
        child.kill()
        trial.plant()
    trial.check_resumes_same()


def stop(trial):
    """A process that is asked to stop saves, says so in one line, and can be resumed."""
    number = trial.rng.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    times = trial.rng.choice((1, 1, 2))
    child = Child(trial.root / "child", *TRAIN, "--out", trial.run)
    _wait(trial, child)
    trial.note(f"{times} x {number.name}")
    for _ in range(times):
        child.signal(number)
        time.sleep(trial.rng.random() * 0.05)
    result = child.finish()
    if result.code == -number:
        # Python itself was still starting, or ending.
        trial.note("before or after the run")
    else:
        result.check()
        if result.code == 130 and times == 1 and "saved" not in result.err:
            raise ViolationError(f"asked to stop, nothing was saved: {result.err!r}")
    trial.plant()
    trial.check_resumes_same()


def suspend(trial):
    """A process that is suspended longer than the environment may take is not blamed on it."""
    child = Child(trial.root / "child", *TRAIN, "--env-timeout", "1", "--out", trial.run)
    _wait(trial, child)
    child.signal(signal.SIGSTOP)
    time.sleep(1.5)
    child.signal(signal.SIGCONT)
    result = child.finish().check()
    if result.code:
        raise ViolationError(f"a suspended run fails: {result.err.strip()}")
    trial.check_same()


def two(trial):
    """Of two processes in one directory one trains; the other is refused in one line."""
    children = [
        Child(trial.root / "child" / name, *TRAIN, "--out", trial.run) for name in ("1", "2")
    ]
    results = [child.finish().check() for child in children]
    if all(result.code for result in results):
        raise ViolationError(f"neither trains: {results[0].err.strip()}")
    trial.check_same()


def sweep(trial):
    """A sweep that is killed or asked to stop takes its runs with it, and resumes."""
    file = grid(trial.root / "written", "tests.chaos.envs:Switches-v0")
    out = trial.root / "written" / "sweep"
    cells = [out / f"tests.chaos.envs-{cell}" for cell in CELLS]
    args = ("sweep", file, "--out", out, "--workers", "2")
    child = Child(trial.root / "child", *args)
    lines = trial.rng.randrange(1, 7)
    child.wait_until(lambda: sum(len(_lines(cell)) for cell in cells) >= lines)
    number = trial.rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP))
    trial.note(f"{number.name} of a sweep after {lines} lines")
    child.signal(number)
    result = child.finish()
    if number != signal.SIGKILL:
        result.check()
    trial.check_clean()
    again = Child(trial.root / "child" / "again", *args).finish().check()
    if again.code:
        raise ViolationError(f"the sweep cannot be resumed: {again.err.strip()}")
    if metrics(cells[0]) != trial.references.metrics:
        raise ViolationError("metrics differ from those of a run that never failed")
    result = here("table", out).check()
    if result.code or "2" not in result.out:
        raise ViolationError(f"the table lacks a run: {result.out}")
    trial.check_clean()


def _wait(trial, child):
    """Waits for a moment of the run: while it starts, or at some line of its metrics."""
    if trial.rng.random() < 0.2:
        seconds = trial.rng.random() * 2
        trial.note(f"{seconds:.2f} s after the start")
        time.sleep(seconds)
    else:
        lines, pause = trial.rng.randrange(6), trial.rng.random() * 0.05
        trial.note(f"{pause:.3f} s after line {lines}")
        child.wait_until(
            lambda: (trial.run / "metrics.jsonl").exists() and len(_lines(trial.run)) >= lines
        )
        time.sleep(pause)


def _lines(out):
    file = out / "metrics.jsonl"
    return file.read_bytes().splitlines() if file.exists() else []
