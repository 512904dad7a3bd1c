"""Baselines: runs that agents are compared with, in the same environments and phases."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.baselines import BASELINES
from hyperaction.baselines.runner import evaluate, run
from hyperaction.cli import main
from hyperaction.envs.vector import Single
from hyperaction.runs.progress import read_progress
from hyperaction.training.config import parse_train

LENGTH = 8


class Signs(gymnasium.Env):
    """Two choices of three; (2, 1) earns most, and (1, 1) must not be taken: it raises."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = LENGTH
        return self._seen()

    def _seen(self):
        allowed = np.ones((3, 3), bool)
        allowed[1, 1] = False
        return np.zeros(2, np.float32), {"action_mask": {(0, 1): allowed}}

    def step(self, action):
        if tuple(action) == (1, 1):
            raise AssertionError("a forbidden action was taken")
        self.left -= 1
        observation, info = self._seen()
        reward = 1.0 if tuple(action) == (2, 1) else 0.0
        return observation, reward, False, self.left == 0, info


gymnasium.register("Signs-v0", "tests.baselines.test_baselines:Signs")


def configured(out, *more):
    args = ["Signs-v0", "--evaluation-steps", "40", "--loggers", "--out", str(out)]
    return parse_train([*args, "--steps", "600", "--phase-steps", "300", *more])


def rows_of(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def test_random_actions_are_even_and_allowed(tmp_path):
    config = configured(tmp_path)
    policy = BASELINES["random"].make(config.make_env, 0)
    env = Single(config.make_env())
    env.reset(0)
    taken = np.array([policy(env)[0] for _ in range(2000)])
    _, counts = np.unique(taken, axis=0, return_counts=True)
    assert len(counts) == 8
    assert (abs(counts - 250) < 5 * 250**0.5).all()


def test_the_best_constant_action_is_found(tmp_path):
    run("constant", configured(tmp_path))
    evaluations = [row for row in rows_of(tmp_path) if row["kind"] == "eval"]
    assert [row["step"] >= 300 for row in evaluations] == [True, True]
    assert evaluations[-1]["return"] == LENGTH
    progress = read_progress(tmp_path)
    assert (progress.complete, progress.last_return) == (True, LENGTH)


def test_the_best_constant_action_is_that_of_the_episodes_so_far(tmp_path):
    config = configured(tmp_path)
    policy = BASELINES["constant"].make(config.make_env, 0)
    env = Single(config.make_env())
    env.reset(0)
    found = []
    for _ in policy.learn(9 * LENGTH):  # Fewer episodes than a round of all candidates has.
        found.append(tuple(policy(env)[0]))
    assert found[0] != (2, 1)
    assert found[-1] == (2, 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_masks_over_several_vertices_hold_in_maskable_ppo(tmp_path, seed):
    pytest.importorskip("sb3_contrib")
    config = configured(tmp_path)
    learner = BASELINES["maskable-ppo"].make(config.make_env, seed)
    next(learner.learn(2048))  # The environment raises at an action that is forbidden.
    assert {episode.length for episode in evaluate(learner, config, 0)} == {LENGTH}


def test_baselines_and_agents_are_cells_of_one_grid(tmp_path, capsys):
    file, out = tmp_path / "grid.toml", tmp_path / "out"
    file.write_text("""
environments = ["tests.baselines.test_baselines:Signs-v0"]
[options]
steps = 600
phase-steps = 300
evaluation-steps = 40
learning-starts = 100
loggers = []
hidden = [8]
[agents.hgqn]
[agents.anything]
baseline = "random"
""")
    assert main(["sweep", str(file), "--out", str(out)]) == 0
    folder = out / "tests.baselines.test_baselines-Signs-v0"
    config = json.loads((folder / "anything/seed-0/config.json").read_text())
    assert (config["agent"], config["settings"]) == ("random", {})
    capsys.readouterr()
    assert main(["table", str(out), "--against", "anything"]) == 0
    assert "hgqn" in capsys.readouterr().out
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "hyperaction evaluate" in page
    assert "anything/seed-0 --trust" not in page  # It cannot be played.
    # What is complete is not run again; other settings are refused.
    assert main(["sweep", str(file), "--out", str(out)]) == 0
    args = ["Signs-v0", "--steps", "600", "--seed", "1", "--out", str(folder / "anything/seed-0")]
    assert main(["baseline", "random", *args]) == 1
    assert "holds a run of other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["baseline", "rando", "Signs-v0"], "unknown baseline 'rando'; did you mean 'random'?"),
        (["baseline", "random", "Signs-v9"], "environment"),
        (["baseline", "random", "Signs-v0", "--step", "5"], "--steps"),
        (["baseline", "random", "Signs-v0", "--evaluation-steps", "0"], "--evaluation-steps"),
    ],
)
def test_mistakes_cost_one_line(args, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(args) != 0
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_baseline_cannot_be_played(tmp_path, capsys):
    run("random", configured(tmp_path / "run"))
    assert main(["evaluate", str(tmp_path / "run")]) == 1
    assert "is a run of the baseline random" in capsys.readouterr().err
