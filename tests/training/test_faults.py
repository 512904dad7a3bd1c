"""Runs that fail: one line, an exit code, and a run that resumes once the fault is fixed."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from hyperaction import HGQN
from hyperaction.cli import main
from hyperaction.envs import guard as guards
from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.envs.make import make
from hyperaction.envs.vector import Single
from hyperaction.training import recorder
from tests.faulty import Faulty
from tests.killing import metrics as metrics

TRAIN = [
    "train", "tests.faulty:Faulty-v0", "--steps", "300", "--phase-steps", "100", "--hidden", "8",
    "--evaluation-steps", "20", "--learning-starts", "80", "--env-timeout", "1", "--loggers",
]  # fmt: skip
RESUME = "the last good checkpoint is at step 100; rerun the same command to resume from it"
FAULTS = {
    "making": "the environment raised KeyError: 'no simulator' in making (faulty.py, line 31)",
    "raises": "the environment raised ZeroDivisionError: gravity is zero and more in step "
    f"(faulty.py, line 48), after step 129; {RESUME}",
    "nan": "the environment returned the observation nan at [1]; it must be finite, "
    f"after step 129; {RESUME}",
    "hangs": f"the environment's step took more than 1 s (--env-timeout), after step 129; {RESUME}",
}
SUDDEN = {
    "hangs in C": "the environment's step took more than 1 s and was killed; rerun the same "
    "command to resume from the last checkpoint",
    "dies": "the run ended suddenly in the environment's step: it was killed, or crashed; rerun "
    "the same command to resume from the last checkpoint",
}


@pytest.fixture
def train(monkeypatch, capsys):
    """Trains in this process, with a fault; gives the exit code and what is printed as errors."""

    def run(out, *more, fault=""):
        monkeypatch.setenv("FAULT", fault)
        monkeypatch.setattr(Faulty, "made", 0)
        code = main([*TRAIN, "--out", str(out), *more])
        return code, capsys.readouterr().err

    return run


def train_alone(out, fault):
    """The same in a process of its own, which does not survive it."""
    command = [sys.executable, "-m", "hyperaction", *TRAIN, "--out", str(out)]
    environ = os.environ | {"FAULT": fault}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The metrics of a run without a fault."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert main([*TRAIN, "--out", str(out)]) == 0
    return metrics(out)


@pytest.mark.parametrize("fault", [*FAULTS, *SUDDEN])
def test_a_faulty_environment_costs_one_line_and_no_result(train, whole, tmp_path, fault):
    out = tmp_path / "run"
    code, printed = train(out, fault=fault) if fault in FAULTS else train_alone(out, fault)
    assert code != 0
    assert printed == f"hyperaction: {(FAULTS | SUDDEN)[fault]}\n"
    assert out.exists() == (fault != "making")
    assert train(out)[0] == 0
    assert metrics(out) == whole


def test_a_start_that_fails_leaves_nothing_and_the_corrected_command_works(train, tmp_path):
    out = tmp_path / "new" / "run"
    for fault, more in (("making", ()), ("reset", ()), ("", ("--buffer-size", "1e15"))):
        code, printed = train(out, *more, fault=fault)
        assert code != 0
        assert printed.count("\n") == 1
        assert not list(tmp_path.iterdir())
    assert train(out, "--seed", "3", "--steps", "50")[0] == 0


def test_a_start_that_fails_leaves_nothing_elsewhere(train, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = f"file://{tmp_path}/elsewhere/run"
    assert train(out, fault="reset")[0] == 1
    assert not [path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]
    assert train(out, "--seed", "3", "--steps", "50")[0] == 0
    assert (tmp_path / "elsewhere" / "run" / "metrics.jsonl").exists()


def test_a_closed_terminal_saves_the_run(train, whole, tmp_path):
    out = tmp_path / "run"
    code, printed = train(out, fault="hangs up")
    assert code == 130
    assert (
        printed == "hyperaction: stopped at step 130 and saved; rerun the same command to resume\n"
    )
    assert train(out)[0] == 0
    assert metrics(out) == whole


@pytest.mark.parametrize("often", [False, True])
def test_a_directory_that_is_removed_stops_the_run(train, tmp_path, monkeypatch, often):
    out = tmp_path / "run"
    monkeypatch.setenv("OUT", str(out))
    if often:  # Not only when the phase ends.
        monkeypatch.setattr(recorder, "WRITE_EVERY_S", 0.0)
    code, printed = train(out, fault="removes")
    assert code == 1
    assert printed == (
        f"hyperaction: {out}/metrics.jsonl was removed or replaced while the run trained\n"
    )
    assert not out.exists()


LOSSES = ["--agent", "hg-rainbow", "--buffer-size", "150", "--batch-size", "16"]


def test_without_a_part_of_replay_a_run_resumes_and_says_so(train, tmp_path, capsys):
    out, again = tmp_path / "run", tmp_path / "again"
    assert train(out, *LOSSES, "--steps", "200")[0] == 0
    (lost,) = (out / "checkpoints").glob("replay-000001-*")  # Both checkpoints need it.
    lost.write_bytes(lost.read_bytes()[:-1])
    with (out / "metrics.jsonl").open("a") as file:  # A result that the run will not repeat.
        file.write('{"kind": "eval", "step": 300, "return": 7.0}\n')
    before = (out / "metrics.jsonl").read_bytes()
    shutil.copytree(out, again)
    capsys.readouterr()
    assert main([*TRAIN, *LOSSES, "--out", str(out), "--steps", "400"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    message = (
        f"a part of replay is lost ({lost.name} does not match its checksum): it resumes with the "
        "100 transitions after that part, and metrics will differ from those of an undamaged run "
        "resuming from step 200"
    )
    assert message in " ".join(printed.out.split())
    assert [row["step"] for row in metrics(out) if row["kind"] == "eval"] == [100, 200, 300, 400]
    assert (out / "metrics-old-1.jsonl").read_bytes() == before

    # From there on, stopping changes nothing either.
    assert train(again, *LOSSES)[0] == train(again, *LOSSES, "--steps", "400")[0] == 0
    assert metrics(again) == metrics(out)


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_last_checkpoint(train, tmp_path):
    code, printed = train(tmp_path / "run", "--learning-rate", "1e30", "--batch-size", "32")
    assert code == 1
    assert printed.count("\n") == 1
    assert "the agent has diverged" in printed
    assert "at step" in printed
    assert "checkpoint" in printed


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("exits", "the environment raised SystemExit: 0 in step"),
        ("no reward", "the environment returned the reward None, which is not a number"),
        ("four values", "the environment's step returned 4 values, not observation, reward, "),
        ("markup", r"the environment raised RuntimeError: bad [/red] tag \x1b[2J!!!!"),
    ],
)
def test_answers_of_any_kind_are_reported(monkeypatch, fault, message):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(Faulty, "made", 3)
    env = Single(make("tests.faulty:Faulty-v0", guard=guards.unguarded))
    env.reset(0)
    for _ in range(29):
        env.step(np.zeros((1, 2), np.int32))
    with pytest.raises(EnvironmentFaultError) as error:
        env.step(np.zeros((1, 2), np.int32))
    assert str(error.value).startswith(message)
    assert len(str(error.value)) < 400


class Restless(Faulty):
    """An environment that no seed repeats; closing it fails."""

    def _observation(self):
        return np.random.default_rng().uniform(-1, 1, 3).astype(np.float32)

    def close(self):
        raise OSError("the simulator is gone already")


gymnasium.register("Restless-v0", lambda **options: Restless(**options), max_episode_steps=10)


def test_a_run_is_resumed_where_the_environment_is_not_deterministic(tmp_path, capsys):
    args = [*TRAIN, "--out", str(tmp_path / "run")]
    args[1] = "Restless-v0"
    assert main([*args, "--steps", "100"]) == 0
    assert main(args) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "the environment is not deterministic: a new episode begins" in printed
    assert [row["step"] for row in metrics(tmp_path / "run") if row["kind"] == "eval"] == [
        100, 200, 300,
    ]  # fmt: skip


@pytest.mark.parametrize("evaluation_steps", ["0", "50"])
def test_results_without_a_checkpoint_are_not_written_over(tmp_path, capsys, evaluation_steps):
    out = tmp_path / "run"
    args = [*TRAIN, "--evaluation-steps", evaluation_steps, "--out", str(out), "--steps"]
    assert main([*args, "100"]) == 0
    before = (out / "metrics.jsonl").read_bytes()
    for state in (out / "checkpoints").glob("state-*"):
        state.write_bytes(b"x" + state.read_bytes())
    for _ in range(2):  # First they are damaged, then they are gone.
        capsys.readouterr()
        assert main([*args, "400"]) == 1
        printed = capsys.readouterr().err
        assert "holds results but no checkpoint that can be used (--fresh" in printed
        assert (out / "metrics.jsonl").read_bytes() == before
        shutil.rmtree(out / "checkpoints", ignore_errors=True)


def test_a_suspended_run_is_not_slow_and_other_signals_are_not_the_watchdogs(tmp_path):
    command = [sys.executable, "-m", "hyperaction", *TRAIN, "--steps", "800", "--out"]
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


ENDS_AT_ONCE = """
import os, time
from hyperaction.training.watchdog import Watchdog
Watchdog(0.0, RuntimeError)
if os.fork() == 0:  # It has the run's end of the pipe, too.
    time.sleep(10)
os._exit(11)
"""


def test_a_run_that_ends_before_its_watchdog_is_there_is_reported():
    command = [sys.executable, "-c", ENDS_AT_ONCE]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.wait(30) == 11
            assert select.select([process.stderr], [], [], 8.0)[0]
            line = process.stderr.readline()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert line.startswith(b"hyperaction: the run ended suddenly: it was killed, or crashed; ")


@pytest.mark.parametrize("fault", ["shape", "nan", "reward"])
def test_in_python_a_faulty_observation_is_refused_too(monkeypatch, fault):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(Faulty, "made", 3)
    agent = HGQN(Faulty(), learning_starts=64, hidden=(8,))
    with pytest.raises(EnvironmentFaultError, match="the environment returned"):
        agent.learn(60)


@pytest.mark.parametrize("fault", ["nan", "reward"])
def test_vectors_of_environments_are_checked_too(monkeypatch, fault):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(Faulty, "made", 2)
    agent = HGQN(SyncVectorEnv([Faulty, Faulty]), learning_starts=64, hidden=(8,))
    with pytest.raises(EnvironmentFaultError, match="the environment returned"):
        agent.learn(200)


@pytest.mark.parametrize("flag", ["no", None, np.zeros(3, bool), {}, float])
def test_an_end_that_is_not_a_yes_or_a_no_is_refused(flag):
    with pytest.raises(
        EnvironmentFaultError, match=r"returned truncated as .*; it must be true or"
    ):
        guards.checked_flag("truncated", flag)


@pytest.mark.parametrize("flag", [True, False, np.True_, 1, 0.0, np.array([True]), np.array(0)])
def test_an_end_may_be_a_number(flag):
    assert guards.checked_flag("truncated", flag) is bool(flag)


def test_large_numbers_are_no_fault():
    guards.check_observation(np.full(4, 3e38, np.float32), (4,))
    with pytest.raises(EnvironmentFaultError, match=r"observation inf at \[0, 2\]"):
        guards.check_observation(np.array([[0, 1, np.inf]], np.float32), (1, 3))
