"""The command train, from its first line to its last."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def hyperaction(*args, check=True, cwd=None):
    command = [sys.executable, "-m", "hyperaction", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done


def train(out: Path, seed: int):
    hyperaction(
        "train", "CartPole-v1", "--agent", "hgqn", "--steps", 300, "--seed", seed, "--hidden", 16,
        "--replay-start", 64, "--minibatch", 16, "--out", out, "--phase-steps", 150,
        "--evaluation-steps", 100,
    )  # fmt: skip
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row.pop("steps_per_second", None)
    return rows


def test_the_same_seed_gives_the_same_metrics_and_another_does_not(tmp_path):
    first, again, other = (
        train(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == again
    assert first != other
    assert [row["kind"] for row in first] == ["train", "eval"] * (len(first) // 2)
    assert first[-1]["step"] >= 300
    assert first[0]["step"] >= 150
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert config["settings"]["hidden"] == [16]
    assert config["seed"] == 1
    names = sorted(path.name.split(".")[0] for path in (tmp_path / "a").iterdir())
    assert names == ["agent", "checkpoints", "config", "events", "lock", "metrics", "progress"]

    played = hyperaction("evaluate", tmp_path / "a", "--episodes", 3).stdout
    assert [line.split()[0] for line in played.splitlines()] == ["episode", "1", "2", "3", "mean"]
    drawing = tmp_path / "compare.png"
    compared = hyperaction("compare", tmp_path / "a", "--out", drawing)
    assert "CartPole-v1" in compared.stdout
    assert drawing.stat().st_size > 5_000
    refused = hyperaction("compare", tmp_path, check=False)
    assert (
        refused.stderr == f"hyperaction: {tmp_path} holds no run: there is no config.json in it\n"
    )


def test_an_environment_without_an_end_is_told_what_to_do(tmp_path):
    (tmp_path / "endless.py").write_text(
        "import gymnasium, numpy as np\n"
        "class Endless(gymnasium.Env):\n"
        "    observation_space = gymnasium.spaces.Box(0, 1, (1,))\n"
        "    action_space = gymnasium.spaces.MultiDiscrete([2, 2])\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        return np.zeros(1, np.float32), {}\n"
        "    def step(self, action):\n"
        "        return np.zeros(1, np.float32), 1.0, False, False, {}\n"
        "gymnasium.register('Endless-v0', Endless)\n"
    )
    args = [
        "train", "endless:Endless-v0", "--steps", "100", "--phase-steps", "20", "--hidden", "8",
        "--evaluation-steps", "20", "--no-tensorboard", "--out", "run",
    ]  # fmt: skip
    refused = hyperaction(*args, check=False, cwd=tmp_path)
    assert refused.returncode == 1
    assert "no episode ended in 200 steps; limit them with --max-episode-steps" in refused.stderr
    hyperaction(*args, "--fresh", "--max-episode-steps", 15, cwd=tmp_path)
    rows = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert {json.loads(row)["length"] for row in rows} == {15.0}


@pytest.mark.parametrize("agent", ["hgqn", "ddpg"])
def test_pybullet_runs_beside_what_was_published(agent, tmp_path):
    done = hyperaction(
        "train", "ReacherBulletEnv-v0", "--agent", agent, "--steps", 300, "--hidden", 16, 16,
        "--replay-start", 100, "--phase-steps", 150, "--evaluation-steps", 1, "--out",
        tmp_path / "run", "--no-tensorboard",
    )  # fmt: skip
    assert not [line for line in done.stdout.splitlines() if "argv" in line or "build" in line]
    assert done.stderr == ""
    if agent == "hgqn":
        compared = hyperaction("compare", tmp_path / "run", "--out", tmp_path / "c.png").stdout
        assert "hgqn-r1-sum" in compared
        assert "no result at the published steps, 10,000 to 3,000,000" in compared
