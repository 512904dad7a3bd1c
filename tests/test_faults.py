"""Runs that fail: one line, an exit code, and a run that goes on once its fault is mended."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from hyperaction import HGQN
from hyperaction.environments import faults
from hyperaction.environments.faults import EnvironmentFaultError
from tests.faulty import Faulty

TRAIN = [
    "train", "tests.faulty:Faulty-v0", "--steps", "300", "--phase-steps", "100", "--hidden", "8",
    "--evaluation-steps", "20", "--replay-start", "80", "--no-tensorboard", "--env-timeout", "1",
]  # fmt: skip
HERE = "the last good checkpoint is that of step 100, from which the same command goes on"
FAULTS = {
    "making": "the environment raised KeyError: 'no simulator' in making (faulty.py, line 29)",
    "raises": "the environment raised ZeroDivisionError: gravity is zero and more in step "
    f"(faulty.py, line 42), after step 129; {HERE}",
    "nan": "the environment gave the observation nan at [1]; only finite numbers can be learned "
    f"from, after step 129; {HERE}",
    "hangs": f"the environment's step took more than 1 s (--env-timeout), after step 129; {HERE}",
    "hangs in C": "the environment's step took more than 1 s and was killed; the same command goes "
    "on from the last checkpoint",
    "dies": "the run ended suddenly in the environment's step: it was killed, or crashed; the same "
    "command goes on from the last checkpoint",
}


def train(out, *more, fault=""):
    command = [sys.executable, "-m", "hyperaction", *TRAIN, *more, "--out", str(out)]
    environ = os.environ | {"FAULT": fault}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)


def metrics(out):
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("steps_per_second", None)
    return rows


def test_a_faulty_environment_costs_one_line_and_no_result(tmp_path):
    out = tmp_path / "run"
    for fault, told in FAULTS.items():
        # The second phase begins where the fault comes; each time it is the fourth made.
        extra = [] if fault == "making" or not out.exists() else ["--fresh"]
        failed = train(out, *extra, fault=fault)
        assert failed.returncode != 0
        assert failed.stderr == f"hyperaction: {told}\n"
        assert out.exists() == (fault != "making")
    assert train(out).returncode == 0
    whole = tmp_path / "whole"
    assert train(whole).returncode == 0
    assert metrics(out) == metrics(whole)


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_last_checkpoint(tmp_path):
    done = train(tmp_path / "run", "--learning-rate", "1e30", "--minibatch", "32")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "not finite at step" in done.stderr or "the loss is" in done.stderr
    assert "checkpoint" in done.stderr


@pytest.mark.parametrize("fault", ["shape", "nan", "reward"])
def test_in_python_a_faulty_observation_is_refused_too(monkeypatch, fault):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(Faulty, "made", 3)
    agent = HGQN(Faulty(), replay_start=64, hidden=(8,))
    with pytest.raises(EnvironmentFaultError, match="the environment gave"):
        agent.learn(60)


@pytest.mark.parametrize("fault", ["nan", "reward"])
def test_vectors_of_environments_are_looked_at_too(monkeypatch, fault):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(Faulty, "made", 2)
    agent = HGQN(SyncVectorEnv([Faulty, Faulty]), replay_start=64, hidden=(8,))
    with pytest.raises(EnvironmentFaultError, match="the environment gave"):
        agent.learn(200)


def test_large_numbers_are_no_fault():
    faults.check_observation(np.full(4, 3e38, np.float32), (4,))
    with pytest.raises(EnvironmentFaultError, match=r"observation inf at \[0, 2\]"):
        faults.check_observation(np.array([[0, 1, np.inf]], np.float32), (1, 3))
