"""Stopping changes nothing: runs are killed in many ways, resumed, and compared byte for byte."""

import contextlib
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tyro

from hyperaction.options import defaults
from hyperaction.replay import Priorities, Ring, Transition
from hyperaction.running.prepared import Prepared
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints, Growth
from hyperaction.training import learning
from tests.killing import KilledError, Killer

REACHER = [
    "train", "ReacherBulletEnv-v0", "--agent", "hg-rainbow", "--rank", "2", "--steps", "600",
    "--hidden", "16", "16", "--replay-start", "200", "--replay-size", "400", "--phase-steps",
    "150", "--evaluation-steps", "150", "--no-tensorboard",
]  # fmt: skip


def start(out, *more, args=REACHER):
    command = [sys.executable, "-m", "hyperaction", *args, "--out", str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    stdout, stderr = process.communicate(timeout=300)
    return process.returncode, stdout, stderr


def metrics(out):
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("steps_per_second", None)
    return rows


def wait_for(condition, process, seconds=120):
    """Waits until something is so; False if the process ended before."""
    until = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < until
        time.sleep(0.01)
    return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that is never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    code, stdout, stderr = finish(start(out))
    assert (code, stderr) == (0, ""), stderr
    assert "going on" not in stdout
    return out


def test_a_run_that_is_killed_is_the_run_that_never_stopped(whole, tmp_path):
    out = tmp_path / "run"
    for lines in (1, 3, 4):
        process = start(out)
        assert wait_for(lambda lines=lines: len(written(out)) >= lines, process)
        process.kill()
        finish(process)
    code, stdout, stderr = finish(start(out))
    assert code == 0, stderr
    assert "going on from step" in stdout
    assert metrics(out) == metrics(whole)


def written(out):
    file = out / "metrics.jsonl"
    return file.read_bytes().splitlines() if file.exists() else []


def test_stopping_at_any_moment_changes_nothing(whole, tmp_path, monkeypatch):
    args = [*REACHER[1:]]
    options_type, default = defaults(args)
    options = tyro.cli(options_type, args=args, default=default)
    killer = Killer(monkeypatch)
    monkeypatch.setattr(learning, "Programs", functools.cache(learning.Programs))

    def run(out):
        with Run(out, options.config(), tensorboard=False) as opened:
            prepared = Prepared(options, options.make_env())
            prepared.train(opened, lambda progress: None, lambda news: None)

    run(tmp_path / "whole")
    assert metrics(tmp_path / "whole") == metrics(whole)
    rare = [place for place, name in enumerate(killer.seen) if name != "step"]
    chances = random.Random(0)
    moments = [*chances.sample(rare, 13), *chances.sample(range(len(killer.seen)), 7)]
    kinds = {killer.seen[moment] for moment in moments}
    assert kinds == {"step", "save_file", "replace", "log", "_prune"}
    for number, moment in enumerate(moments):
        out = tmp_path / str(number)
        killer.left = moment
        with pytest.raises(KilledError):
            run(out)
        if number % 4 == 0:  # And once more, after going on.
            killer.left = chances.randrange(400)
            with contextlib.suppress(KilledError):
                run(out)
        killer.left = None
        run(out)
        assert metrics(out) == metrics(whole), killer.seen[moment]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_a_run_finishes_its_step_and_saves(whole, tmp_path, number):
    out = tmp_path / "run"
    process = start(out)
    assert wait_for(lambda: len(list(out.glob("checkpoints/checkpoint-*"))) > 0, process)
    time.sleep(0.3)
    process.send_signal(number)
    code, _, stderr = finish(process)
    assert code == 130
    assert stderr.startswith("hyperaction: stopped at step ")
    assert stderr.endswith("; the same command goes on from there\n")
    stopped = int(stderr.split("step ")[1].split()[0].replace(",", ""))
    assert json.loads((out / "progress.json").read_text())["step"] == stopped
    code, stdout, stderr = finish(start(out))
    assert code == 0, stderr
    assert f"going on from step {stopped:,}" in stdout
    assert metrics(out) == metrics(whole)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(whole, tmp_path):
    for damage in ("flip", "cut", "manifest"):
        out = tmp_path / damage
        shutil.copytree(whole, out)
        folder = out / "checkpoints"
        newest = sorted(folder.glob("checkpoint-*.json"))[-1]
        state = sorted(folder.glob("state-*"))[-1]
        data = bytearray(state.read_bytes())
        if damage == "flip":
            data[len(data) // 2] ^= 1
            state.write_bytes(data)
        elif damage == "cut":
            state.write_bytes(data[:-10])
        else:
            newest.write_text(newest.read_text().replace("step", "stop", 1))
        code, stdout, stderr = finish(start(out))
        assert code == 0, stderr
        told = " ".join(stdout.split())
        assert "is damaged" in told
        assert "an earlier one is used" in told
        assert metrics(out) == metrics(whole)


def test_other_settings_are_refused_and_fresh_keeps_the_old_run(whole, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    before = (out / "metrics.jsonl").read_bytes()
    code, _, stderr = finish(start(out, "--learning-rate", "0.5", "--seed", "3"))
    assert code == 1
    assert (
        "seed was 0, now 3, learning_rate was 1e-05, now 0.5 (train --fresh starts over)" in stderr
    )
    assert (out / "metrics.jsonl").read_bytes() == before
    code, _, stderr = finish(start(out, "--fresh", "--seed", "3", "--steps", "1"))
    assert code == 0, stderr
    assert (tmp_path / "run-old-1" / "metrics.jsonl").read_bytes() == before
    assert metrics(out)[0]["step"] < 600


def test_two_processes_cannot_train_in_one_directory(tmp_path):
    out = tmp_path / "run"
    first = start(out)
    assert wait_for(lambda: (out / "config.json").exists(), first)
    code, _, stderr = finish(start(out))
    first.kill()
    finish(first)
    assert code == 1
    assert stderr == f"hyperaction: another process (number {first.pid}) is training in {out}\n"


def test_a_full_disk_stops_the_run_and_damages_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        code, _, stderr = finish(start(disk / "run"))
        assert code == 1
        assert "No space left on device" in stderr
        assert stderr.count("\n") == 1
        rows = (disk / "run" / "metrics.jsonl").read_text().splitlines()
        assert all(json.loads(row)["kind"] in ("train", "eval") for row in rows)
        assert not list((disk / "run").rglob("*.part"))
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        code, _, stderr = finish(start(disk / "run", "--steps", "601"))
        assert code == 0, stderr
    finally:
        subprocess.run(["umount", disk], check=True)


def transitions(count):
    rows = np.random.default_rng(0).normal(size=(count, 2)).astype(np.float32)
    return [Transition(row, np.array([k]), float(k), 0.9, row + 1) for k, row in enumerate(rows)]


@pytest.mark.parametrize("capacity", [5, 8, 100])
def test_checkpoints_hold_replay_in_pieces(tmp_path, capacity):
    ring, checkpoints, saved = Ring(capacity, (2,), 1), Checkpoints(tmp_path), 0
    for number, transition in enumerate(transitions(20)):
        ring.add(transition)
        if number % 3 == 2:
            first = max(saved, ring.oldest)
            growth = Growth(first, ring.added, ring.oldest, ring.between)
            checkpoints.write({"agent": {}}, {"x": np.array(number)}, {"replay": growth})
            saved = ring.added
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


def test_checkpoints_go_on_after_damaged_ones(tmp_path):
    def write(checkpoints, number):
        checkpoints.write({"agent": {}}, {"x": np.array(number)}, {})

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
    two.refill(one.priorities, one.largest)
    np.testing.assert_array_equal(one.tree, two.tree)
    assert one.largest == two.largest


def test_nothing_of_a_run_can_be_run(whole):
    for file in whole.rglob("*"):
        if file.is_file():
            assert file.suffix in (".json", ".jsonl", ".safetensors") or file.name == "lock"
    assert os.path.samefile(
        whole / "agent.safetensors", sorted(Path(whole / "checkpoints").glob("state-*"))[-1]
    )
