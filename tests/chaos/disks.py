"""Disks that are full, directories that cannot be written or that are removed."""

import os
import resource
import shutil
from contextlib import contextmanager

from tests.chaos import envs
from tests.chaos.commands import ViolationError
from tests.chaos.trial import SAID

NOBODY = 65534


def full(trial):
    """A full disk stops the run in one line; with room again it resumes to the same metrics."""
    limit = trial.rng.randrange(7_000)
    if trial.rng.random() < 0.5:
        trial.begin("half")
    loggers = ("--loggers", "tensorboard") if trial.rng.random() < 0.3 else ()
    trial.note(f"files of at most {limit} bytes, {' '.join(loggers) or 'no loggers'}")
    with _largest_file(limit):
        trial.train(*loggers)
    trial.check_others()
    trial.check_clean()
    trial.check_resumes_same()


@contextmanager
def _largest_file(limit):
    """Writes beyond so many bytes of a file fail, as they do on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def read_only(trial):
    """A directory that cannot be written is refused in one line, and read nonetheless."""
    trial.begin(trial.rng.choice(("half", "whole")))
    folder = trial.rng.choice((trial.run, trial.run / "checkpoints"))
    trial.note(f"{folder.name} cannot be written")
    if not os.geteuid():
        for path in (trial.run, *trial.run.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    folder.chmod(0o555)
    with _not_root():
        result = trial.train("--steps", "320")
    folder.chmod(0o755)
    if result.code == 0:
        raise ViolationError("a directory that cannot be written was written")
    trial.check_others()
    trial.check_resumes_same()


@contextmanager
def _not_root():
    """Root may write anywhere."""
    is_root = not os.geteuid()
    if is_root:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
            os.setegid(0)


def removed(trial):
    """A directory that is removed or moved while a run trains stops it in one line."""
    if trial.rng.random() < 0.5:
        trial.begin("half")
        calls = trial.rng.randrange(1, 40)
    else:
        calls = trial.rng.randrange(1, 300)
    how = trial.rng.choice(("removed", "moved", "checkpoints removed", "metrics removed"))
    trial.note(f"{how} at call {calls}")

    def strike(call, answer):
        if how == "moved":
            os.rename(trial.run, trial.written / "moved")
        elif how == "removed":
            shutil.rmtree(trial.run)
        elif how == "checkpoints removed":
            shutil.rmtree(trial.run / "checkpoints", ignore_errors=True)
        else:
            (trial.run / "metrics.jsonl").unlink(missing_ok=True)
        if how != "moved":
            trial.remember_others()
        return tuple(answer)

    envs.strike(strike, calls)
    result = trial.train()
    envs.strike(None, 0)
    trial.check_clean()
    if result.code == 0:
        _check_what_it_said(trial, result)
    if how == "moved":
        shutil.rmtree(trial.run, ignore_errors=True)
        os.rename(trial.written / "moved", trial.run)
        trial.check_resumes_same()
    elif how == "removed":
        shutil.rmtree(trial.run, ignore_errors=True)
        trial.check_resumes_same()
    else:
        trial.train()  # Something is missing: the same metrics cannot be promised.


def _check_what_it_said(trial, result):
    """A run that says it has written its metrics has."""
    if "Written" in result.out and not (trial.run / "metrics.jsonl").exists():
        raise ViolationError("exit 0 and 'Written', but there is no metrics.jsonl")
    if (trial.run / "metrics.jsonl").exists() and not SAID.search(result.out):
        trial.check_same()
