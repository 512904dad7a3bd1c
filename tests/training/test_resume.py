"""Stopping changes nothing: runs are killed in many ways, resumed, and compared byte for byte."""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from hyperaction.cli import main
from hyperaction.replay.priorities import Priorities
from hyperaction.replay.ring import Ring, Transition
from hyperaction.runs import read_arrays
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.training.config import parse_train
from tests.killing import KilledError, Killer, metrics, train_in

REACHER = [
    "train", "ReacherBulletEnv-v0", "--agent", "hg-rainbow", "--rank", "2", "--steps", "450",
    "--hidden", "16", "16", "--learning-starts", "160", "--buffer-size", "250", "--batch-size",
    "16", "--train-frequency", "2", "--phase-steps", "150", "--evaluation-steps", "150",
    "--loggers",
]  # fmt: skip


def start(out):
    """The run as a command in a process of its own, which can be killed."""
    pytest.importorskip("pybullet_envs_gymnasium")
    command = [sys.executable, "-m", "hyperaction", *REACHER, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    stdout, stderr = process.communicate(timeout=300)
    return process.returncode, stdout, stderr


def run_here(capsys, out, *more):
    """The same command in this process: the exit code, and what it prints."""
    pytest.importorskip("pybullet_envs_gymnasium")
    code = main([*REACHER, "--out", str(out), *more])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def wait_for(condition, process, seconds=120):
    """Waits until something is so; False if the process ended before."""
    until = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < until
        time.sleep(0.01)
    return True


def newest(out, pattern):
    """The newest file of a kind among a run's checkpoints."""
    return max((out / "checkpoints").glob(pattern), default=None)


def checkpoint_step(out):
    """The step of the last checkpoint."""
    manifest = json.loads(newest(out, "checkpoint-*.json").read_text())
    return json.loads(manifest["checkpoint"])["state"]["trainer"]["step"]


def agent_step(out):
    """The step of the agent beside the checkpoints, which is that of the last of them."""
    file = out / "agent.safetensors"
    assert os.path.samefile(file, newest(out, "state-*"))
    return read_arrays(file)[1]["step"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that is never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    pytest.importorskip("pybullet_envs_gymnasium")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([*REACHER, "--out", str(out)]) == 0
    assert "resuming" not in printed.getvalue()
    return out


def test_a_run_that_is_killed_is_the_run_that_never_stopped(whole, tmp_path, capsys):
    out = tmp_path / "run"
    for lines in (1, 4):
        process = start(out)
        assert wait_for(lambda lines=lines: len(written(out)) >= lines, process)
        process.kill()
        finish(process)
    code, stdout, stderr = run_here(capsys, out)
    assert code == 0, stderr
    assert "resuming from step" in stdout
    assert metrics(out) == metrics(whole)


def written(out):
    file = out / "metrics.jsonl"
    return file.read_bytes().splitlines() if file.exists() else []


def test_stopping_at_any_moment_changes_nothing(tmp_path, monkeypatch):
    config = parse_train([
        "tests.faulty:Faulty-v0", *REACHER[2:], "--steps", "240", "--phase-steps", "80",
        "--evaluation-steps", "30", "--learning-starts", "60", "--buffer-size", "120",
    ])  # fmt: skip
    killer, whole = Killer(monkeypatch), tmp_path / "whole"
    train_in(whole, config)
    chances, moments = random.Random(0), []
    for kind in ("step", "save_file", "replace", "log", "_prune"):
        of_kind = [moment for moment, name in enumerate(killer.seen) if name == kind]
        moments += chances.sample(of_kind, 2)
    for number, moment in enumerate(moments):
        out = tmp_path / str(number)
        killer.left = moment
        with pytest.raises(KilledError):
            train_in(out, config)
        if number % 4 == 0:  # And once more, after resuming.
            killer.left = chances.randrange(150)
            with contextlib.suppress(KilledError):
                train_in(out, config)
        killer.left = None
        train_in(out, config)
        assert metrics(out) == metrics(whole), killer.seen[moment]


@pytest.mark.parametrize(
    "agent",
    [
        ["--agent", "action-in", "--maximise", "sampling", "--prioritised", "--n-step", "3"],
        ["--rank", "2", "--objective", "logarithmic", "--double"],
    ],
    ids=["action-in", "logarithmic"],
)
def test_agents_that_look_for_their_actions_are_resumed_as_they_were(agent, tmp_path, monkeypatch):
    config = parse_train([
        "tests.faulty:Faulty-v0", *agent, "--steps", "160", "--hidden", "8", "--total-width", "8",
        "--learning-starts", "40", "--batch-size", "8", "--phase-steps", "50",
        "--evaluation-steps", "20",
    ])  # fmt: skip
    killer = Killer(monkeypatch)
    train_in(tmp_path / "whole", config)
    killer.left = int(0.7 * len(killer.seen))
    with pytest.raises(KilledError):
        train_in(tmp_path / "killed", config)
    killer.left = None
    train_in(tmp_path / "killed", config)
    assert metrics(tmp_path / "killed") == metrics(tmp_path / "whole")
    assert any("loss" in row for row in metrics(tmp_path / "whole"))


def test_asked_to_stop_a_run_finishes_its_step_and_saves(whole, tmp_path, capsys):
    out = tmp_path / "run"
    stopped = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        before = newest(out, "checkpoint-*.json")
        process = start(out)
        assert wait_for(lambda before=before: newest(out, "checkpoint-*.json") != before, process)
        process.send_signal(number)
        code, stdout, stderr = finish(process)
        assert code == 130
        assert (f"resuming from step {stopped:,}" in stdout) == (stopped > 0)
        assert stderr.startswith("hyperaction: stopped at step ")
        assert stderr.endswith(" and saved; rerun the same command to resume\n")
        stopped = int(stderr.split("step ")[1].split()[0].replace(",", ""))
        assert json.loads((out / "progress.json").read_text())["step"] == stopped
        assert agent_step(out) == checkpoint_step(out) == stopped
    code, stdout, stderr = run_here(capsys, out)
    assert code == 0, stderr
    assert f"resuming from step {stopped:,}" in stdout
    assert metrics(out) == metrics(whole)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(whole, tmp_path, capsys):
    for damage in ("flip", "cut", "manifest"):
        out = tmp_path / damage
        shutil.copytree(whole, out)
        manifest, state = newest(out, "checkpoint-*.json"), newest(out, "state-*")
        data = bytearray(state.read_bytes())
        if damage == "flip":
            data[len(data) // 2] ^= 1
            state.write_bytes(data)
        elif damage == "cut":
            state.write_bytes(data[:-10])
        else:
            manifest.write_text(manifest.read_text().replace("step", "stop", 1))
        code, stdout, stderr = run_here(capsys, out)
        assert code == 0, stderr
        message = " ".join(stdout.split())
        assert "is damaged" in message
        assert "an earlier one is used" in message
        assert metrics(out) == metrics(whole)


def test_other_settings_are_refused_and_fresh_keeps_the_old_run(whole, tmp_path, capsys):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    before = (out / "metrics.jsonl").read_bytes()
    code, _, stderr = run_here(capsys, out, "--learning-rate", "0.5", "--seed", "3")
    assert code == 1
    changes = "seed was 0, now 3, optimiser.learning_rate was linear:0.001:0.0001:300000, now 0.5"
    assert f"{changes} (train --fresh starts over)" in stderr
    assert (out / "metrics.jsonl").read_bytes() == before
    code, _, stderr = run_here(capsys, out, "--fresh", "--seed", "3", "--steps", "1")
    assert code == 0, stderr
    assert (tmp_path / "run-old-1" / "metrics.jsonl").read_bytes() == before
    assert [row["step"] for row in metrics(out)] == [150, 150]


def test_two_processes_cannot_train_in_one_directory(tmp_path, capsys):
    out = tmp_path / "run"
    first = start(out)
    assert wait_for(lambda: (out / "config.json").exists(), first)
    code, _, stderr = run_here(capsys, out)
    first.kill()
    finish(first)
    assert code == 1
    assert stderr == f"hyperaction: another process (number {first.pid}) is training in {out}\n"


def test_a_full_disk_stops_the_run_and_damages_nothing(tmp_path, capsys):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        code, _, stderr = run_here(capsys, disk / "run")
        assert code == 1
        assert "No space left on device" in stderr
        assert stderr.count("\n") == 1
        rows = (disk / "run" / "metrics.jsonl").read_text().splitlines()
        assert all(json.loads(row)["kind"] in ("train", "eval") for row in rows)
        assert not list((disk / "run").rglob("*.part"))
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        code, _, stderr = run_here(capsys, disk / "run", "--steps", "451")
        assert code == 0, stderr
    finally:
        subprocess.run(["umount", disk], check=True)


def transitions(count):
    rows = np.random.default_rng(0).normal(size=(count, 2)).astype(np.float32)
    return [Transition(row, np.array([k]), float(k), 0.9, row + 1) for k, row in enumerate(rows)]


@pytest.mark.parametrize("capacity", [5, 8, 100])
def test_checkpoints_hold_replay_in_pieces(tmp_path, capacity):
    ring, checkpoints = Ring(capacity, (2,), 1), Checkpoints(tmp_path)
    for number, transition in enumerate(transitions(20)):
        ring.add(transition)
        if number % 3 == 2:
            checkpoints.write({}, {"x": np.array(number)}, ring.streams, {})
            found, problems = Checkpoints(tmp_path).latest()
            assert not problems
            assert found.arrays["x"] == number
            again = Ring(capacity, (2,), 1)
            for piece in found.replay:
                again.refill(piece.first, piece.read())
            assert again.added == ring.added
            for ours, theirs in zip(again.arrays[:5], ring.arrays[:5], strict=True):
                np.testing.assert_array_equal(ours, theirs)
    files = list((tmp_path / "checkpoints").iterdir())
    assert len([file for file in files if file.name.startswith("checkpoint")]) == 2
    held = [file for file in files if file.name.startswith("replay")]
    assert len(held) <= capacity // 3 + 3


def test_checkpoints_are_written_after_damaged_ones(tmp_path):
    def write(checkpoints, number):
        checkpoints.write({}, {"x": np.array(number)}, {}, {})

    first = Checkpoints(tmp_path)
    for number in range(2):
        write(first, number)
    for state in (tmp_path / "checkpoints").glob("state-*"):
        state.write_bytes(state.read_bytes() + b"x")
    second = Checkpoints(tmp_path)
    found, problems = second.latest()
    assert found is None
    assert len(problems) == 2
    for number in range(2, 5):
        write(second, number)
        assert Checkpoints(tmp_path).latest()[0].arrays["x"] == number


def test_priorities_come_back_to_the_bit():
    one, two = Priorities(13), Priorities(13)
    random = np.random.default_rng(0)
    one.renew([], range(13))
    for _ in range(20):
        one.set(random.integers(13, size=4), random.random(4) * 3)
    two.load_state_dict(one.state_dict())
    np.testing.assert_array_equal(one.tree, two.tree)
    assert one.largest == two.largest


def test_nothing_of_a_run_can_be_run(whole):
    for file in whole.rglob("*"):
        if file.is_file():
            assert file.suffix in (".json", ".jsonl", ".safetensors") or file.name == "lock"
    assert agent_step(whole) == checkpoint_step(whole)
