"""`learn(out=...)` and the command write the same run, and resume each other's."""

import json
import os
import shutil
import signal
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction import HGQN, Callback, KeepBest, StopAtReturn, StopOnPlateau
from hyperaction.cli import main
from hyperaction.errors import SettingError
from hyperaction.runs import read_arrays
from hyperaction.runs.progress import read_progress
from tests.killing import metrics
from tests.training.envs import TINY, Counting


class Drifting(gymnasium.Env):
    """Two sub-actions push a number that drifts; episodes have ten steps."""

    observation_space = spaces.Box(-9, 9, (1,))
    action_space = spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.length = self.np_random.normal(), 0
        return np.array([self.place], np.float32), {}

    def step(self, action):
        self.place = np.clip(self.place + self.np_random.normal() / 9 + sum(action) - 1, -9, 9)
        self.length += 1
        reward = -abs(float(self.place))
        return np.array([self.place], np.float32), reward, False, self.length == 10, {}


RUN: dict[str, Any] = {
    "eval_every": 40, "eval_steps": 20, "checkpoint_every": 15, "logger": [],
}  # fmt: skip


def learn(out, callback=None, steps=120, **settings):
    agent = HGQN(Drifting(), **(TINY | settings))
    return agent.learn(steps, callback, out=out, eval_env=Drifting(), **RUN)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    learn(out)
    return out


def test_python_and_the_command_write_the_same_run(tmp_path, capsys):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    small = {"hidden": [8], "learning_starts": 32, "batch_size": 8}
    agent = HGQN("CartPole-v1", seed=3, **small)
    agent.learn(80, out=ours, eval_every=40, eval_steps=20, logger=[])
    command = [
        "train", "CartPole-v1", "--hidden", "8", "--learning-starts", "32", "--batch-size", "8",
        "--seed", "3", "--loggers", "--phase-steps", "40", "--evaluation-steps", "20",
    ]  # fmt: skip
    assert main([*command, "--steps", "80", "--out", str(theirs)]) == 0
    assert metrics(ours) == metrics(theirs)
    config = (ours / "config.json").read_text()
    assert config == (theirs / "config.json").read_text()
    names = [sorted(path.name.split(".")[0] for path in out.iterdir()) for out in (ours, theirs)]
    assert names[0] == names[1]
    for name, array in read_arrays(ours / "agent.safetensors")[0].items():
        np.testing.assert_array_equal(array, read_arrays(theirs / "agent.safetensors")[0][name])
    capsys.readouterr()
    assert main([*command, "--steps", "120", "--out", str(ours)]) == 0
    assert f"resuming from step {agent.step}" in capsys.readouterr().out
    assert main(["evaluate", str(ours), "--episodes", "1"]) == 0
    resumed = HGQN("CartPole-v1", seed=3, **small)
    resumed.learn(160, out=ours, eval_every=40, eval_steps=20, logger=[])
    assert resumed.step >= 160


@pytest.mark.parametrize("step", [7, 41, 77])
def test_a_run_that_is_interrupted_is_resumed_by_the_same_script(whole, tmp_path, step):
    def press(trainer):
        if trainer.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=f"stopped at step {step} and saved; run the same"):
        learn(tmp_path / "run", press)
    agent = learn(tmp_path / "run")
    assert metrics(tmp_path / "run") == metrics(whole)
    assert agent.step == 120
    expected = HGQN.load(whole)
    np.testing.assert_array_equal(agent.act([[0.5], [-2.0]]), expected.act([[0.5], [-2.0]]))


@pytest.mark.parametrize("step", [39, 40, 59, 118])
def test_a_run_that_is_killed_is_resumed_by_the_same_script(whole, tmp_path, step):
    def copy(trainer):  # What a kill at this step leaves behind.
        if trainer.step == step:
            shutil.copytree(trainer.out, tmp_path / "killed")

    learn(tmp_path / "run", copy)
    learn(tmp_path / "killed")
    assert metrics(tmp_path / "run") == metrics(tmp_path / "killed") == metrics(whole)


def test_a_run_goes_on_from_an_agent_that_has_learned(tmp_path):
    agent = HGQN(Drifting(), **TINY).learn(33)
    agent.learn(60, out=tmp_path / "run", log_interval=30, logger=[]).learn(10)
    assert agent.step == 33 + 60 + 10  # The run began with a new episode.
    rows = metrics(tmp_path / "run")
    assert [row["step"] for row in rows] == [63, 93]
    assert not json.loads((tmp_path / "run/config.json").read_text())["evaluation_steps"]


@pytest.mark.parametrize(
    ("again", "message"),
    [
        (
            lambda out: learn(out, hidden=(9,)),
            r"other settings: network.hidden was \[8\], now \[9\]",
        ),
        (lambda out: learn(out, steps=60), "steps was 120, now 60"),
        (
            lambda out: HGQN(Drifting(), **TINY).learn(130).learn(9, out=out, logger=[]),
            "holds a run of other settings",
        ),
    ],
)
def test_a_run_of_other_settings_is_refused_and_left_alone(whole, again, message):
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=message):
        again(whole)
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before


def test_a_run_is_not_put_back_behind_what_an_agent_has_learned(whole):
    agent = HGQN(Drifting(), **TINY).learn(125)
    with pytest.raises(SettingError, match="holds a run at step 120, and this agent has learned"):
        agent.learn(5, out=whole, eval_env=Drifting(), **RUN)
    assert agent.learn(5).step == 130


def test_without_out_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = HGQN(Drifting(), **TINY).learn(40, eval_env=Drifting(), eval_every=20, eval_steps=10)
    assert [row["step"] for row in agent.trainer.evaluations] == [20, 40]
    assert not list(tmp_path.iterdir())


def test_commands_play_the_agent_of_an_environment_without_an_id(whole, tmp_path, capsys):
    gymnasium.register("ObjectDrifting-v0", Drifting, max_episode_steps=10)
    try:
        for command in ("evaluate", "explain"):
            assert main([command, str(whole)]) == 1
            assert "in an environment that no id makes (Drifting): give --env" in (
                capsys.readouterr().err
            )
        evaluate = ["evaluate", "--episodes", "2", "--env", "ObjectDrifting-v0"]
        assert main([*evaluate, str(whole)]) == 0
        played = capsys.readouterr().out
        alone = tmp_path / "alone.safetensors"
        shutil.copyfile(whole / "agent.safetensors", alone)
        assert main([*evaluate, str(alone)]) == 0
        assert capsys.readouterr().out == played
        explain = ["explain", str(alone), "--steps", "5", "--out", str(tmp_path / "explain")]
        assert main([*explain, "--env", "ObjectDrifting-v0"]) == 0
        assert main(["evaluate", str(alone)]) == 1
        assert "does not say which environment it is for: give --env" in capsys.readouterr().err
        assert main(["table", str(whole)]) == 0
    finally:
        del gymnasium.registry["ObjectDrifting-v0"]


class Everything(Callback):
    """Asks for evaluations, checkpoints and metrics as it likes."""

    def on_step(self, trainer):
        if trainer.step % 30 == 0:
            trainer.record("half", trainer.step / 2)
            self.asked = trainer.evaluate()
            assert trainer.evaluate() is self.asked
            trainer.save()


def test_callbacks_evaluate_save_and_record_and_the_run_is_still_resumed_exactly(tmp_path):
    learn(tmp_path / "whole", Everything())
    rows = metrics(tmp_path / "whole")
    evaluations = [row for row in rows if row["kind"] == "eval"]
    assert [row["step"] for row in evaluations] == [30, 40, 60, 80, 90, 120]
    assert [row.get("half") for row in rows if row["kind"] == "train"] == [15.0, 30.0, 60.0]
    for step in (31, 62):

        def press(trainer, step=step):
            if trainer.step == step:
                os.kill(os.getpid(), signal.SIGINT)

        out = tmp_path / str(step)
        with pytest.raises(KeyboardInterrupt):
            learn(out, [Everything(), press])
        learn(out, Everything())
        assert metrics(out) == rows


def test_asking_for_what_cannot_be_is_one_line():
    for ask, message in (
        (lambda trainer: trainer.evaluate(), "nothing to evaluate in; give eval_env"),
        (lambda trainer: trainer.save(), "there is no run to save; give out"),
        (lambda trainer: trainer.record("return", 1.0), "every phase has a metric return"),
        (StopAtReturn(3.0), "StopAtReturn needs evaluations; give eval_env"),
        (Everything, r"not the class Everything; did you mean Everything\(\)"),
    ):
        with pytest.raises(SettingError, match=message):
            HGQN(Counting(), **TINY).learn(2, ask)
    env = Drifting()
    for given, message in (
        ({"eval_env": env}, "eval_env is the environment that the agent learns in"),
        ({"eval_every": 5}, "eval_every needs an environment to evaluate in"),
        ({"logger": "tensorboard"}, "writes into the directory of a run; give out"),
        ({"checkpoint_every": 5}, "checkpoint_every is for runs in a directory"),
    ):
        with pytest.raises(SettingError, match=message):
            HGQN(env, **TINY).learn(2, **given)


def test_a_run_stops_at_a_return_and_is_complete(whole, tmp_path, capsys):
    target = next(row["return"] for row in metrics(whole) if row["kind"] == "eval")
    out = tmp_path / "run"
    assert learn(out, [StopAtReturn(target), KeepBest()]).step == 40
    assert read_progress(out).complete
    assert learn(out, StopAtReturn(target)).step == 40
    best = HGQN.load(out / "best.safetensors")
    assert best.step == 40
    assert learn(out).step == 120  # Without it, the run goes on.


def test_a_plateau_stops_and_the_best_agent_is_kept(tmp_path):
    class Scripted(Callback):
        """Evaluations as they are written here."""

        returns = (1.0, 3.0, 2.0, 3.0, 9.0)

        def on_evaluation(self, trainer, metrics):
            metrics["return"] = self.returns[len(trainer.evaluations) - 1]

    file = tmp_path / "best.safetensors"
    callbacks = [Scripted(), KeepBest(file), StopOnPlateau(2)]
    agent = HGQN(Drifting(), **TINY)
    agent.learn(60, callbacks, eval_env=Drifting(), eval_every=10, eval_steps=10)
    assert agent.step == 40
    assert HGQN.load(file).step == 20


def test_progress_shows_evaluations(capsys):
    agent = HGQN(Drifting(), **TINY)
    agent.learn(40, eval_env=Drifting(), eval_every=20, eval_steps=10, progress_bar=True)
    shown = capsys.readouterr().out
    assert [line.split(",")[0] for line in shown.splitlines() if "evaluation" in line] == [
        "step 20: evaluation",
        "step 40: evaluation",
    ]
    assert "100%" in shown


def test_an_environment_that_is_not_deterministic_is_reported(tmp_path):
    def run(until):
        agent = HGQN(Counting(), **TINY)  # It counts its episodes, whatever the seed.
        agent.learn(until, out=tmp_path / "run", log_interval=10, logger=[])

    run(26)
    with pytest.warns(UserWarning, match="the environment is not deterministic"):
        run(50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HGQN(Drifting(), **TINY).learn(26, out=tmp_path / "other", log_interval=10, logger=[])
