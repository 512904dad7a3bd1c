"""Runs that fail: one line, an exit code, and a run that goes on once its fault is mended."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from hyperaction import HGQN, cli
from hyperaction.environments import Single, faults, make
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


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("exits", "the environment raised SystemExit: 0 in step"),
        ("no reward", "the environment gave the reward None, which is no number"),
        ("four values", "the environment's step returned 4 values, not observation, reward, "),
        ("markup", r"the environment raised RuntimeError: bad [/red] tag \x1b[2J!!!!"),
    ],
)
def test_answers_of_any_kind_are_told(monkeypatch, fault, told):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(Faulty, "made", 3)
    env = Single(make("tests.faulty:Faulty-v0", guard=faults.unguarded))
    env.reset(0)
    for _ in range(29):
        env.step(np.zeros((1, 2), np.int32))
    with pytest.raises(EnvironmentFaultError) as error:
        env.step(np.zeros((1, 2), np.int32))
    assert str(error.value).startswith(told)
    assert len(str(error.value)) < 400


class Restless(Faulty):
    """An environment that no seed repeats; closing it fails."""

    def _observation(self):
        return np.random.default_rng().uniform(-1, 1, 3).astype(np.float32)

    def close(self):
        raise OSError("the simulator is gone already")


gymnasium.register("Restless-v0", lambda **options: Restless(**options), max_episode_steps=10)


def test_a_run_goes_on_where_the_environment_does_not_repeat_itself(tmp_path):
    args = [*TRAIN, "--out", str(tmp_path / "run")]
    args[1] = "Restless-v0"
    said = StringIO()
    with contextlib.redirect_stdout(said):
        assert cli.main([*args, "--steps", "100"]) == 0
        assert cli.main(args) == 0
    assert "the environment does not repeat itself" in " ".join(said.getvalue().split())
    assert [row["step"] for row in metrics(tmp_path / "run") if row["kind"] == "eval"] == [
        100, 200, 300,
    ]  # fmt: skip


@pytest.mark.parametrize("evaluation_steps", ["0", "50"])
def test_results_without_a_checkpoint_are_not_written_over(tmp_path, evaluation_steps):
    out = tmp_path / "run"
    train = [*TRAIN, "--evaluation-steps", evaluation_steps, "--out", str(out)]
    assert cli.main(train) == 0
    before = (out / "metrics.jsonl").read_bytes()
    for state in (out / "checkpoints").glob("state-*"):
        state.write_bytes(b"x" + state.read_bytes())
    for _ in range(2):  # First they are damaged, then they are gone.
        said = StringIO()
        with contextlib.redirect_stderr(said):
            assert cli.main([*train, "--steps", "400"]) == 1
        assert "holds results but no checkpoint that can be used (--fresh" in said.getvalue()
        assert (out / "metrics.jsonl").read_bytes() == before
        shutil.rmtree(out / "checkpoints", ignore_errors=True)


def test_a_suspended_run_is_not_slow_and_other_signals_are_not_the_watchdogs(tmp_path):
    command = [sys.executable, "-m", "hyperaction", *TRAIN, "--steps", "3000", "--out"]
    process = subprocess.Popen([*command, str(tmp_path / "run")], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run" / "checkpoints").exists():
        time.sleep(0.05)
    for _ in range(3):
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        process.send_signal(signal.SIGCONT)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (0, "")


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
