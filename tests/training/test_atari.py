"""Agents that learn Atari games."""

import numpy as np
import pytest

from hyperaction.cli import main
from hyperaction.envs.make import make
from hyperaction.envs.vector import Single
from hyperaction.training.config import parse_train
from hyperaction.training.trainer import Trainer
from tests.killing import KilledError, Killer, metrics, train_in

SMALL = [
    "--total-width", "14", "--padding", "valid", "--batch-size", "4", "--learning-starts", "60",
    "--buffer-size", "400", "--train-frequency", "20", "--interval", "100", "--loggers",
]  # fmt: skip


# The fourth, hg-rainbow, learns the games below that are killed.
@pytest.mark.parametrize("agent", ["dqn", "hgqn", "rainbow"])
def test_every_agent_of_the_paper_learns_some_steps(agent, tmp_path, capsys):
    out = tmp_path / "run"
    args = [
        "train", "ALE/BankHeist-v5", "--agent", agent, *SMALL, "--steps", "200", "--phase-steps",
        "150", "--max-episode-steps", "150", "--out", str(out),
    ]  # fmt: skip
    if agent == "hgqn":
        args += ["--mixer", "universal", "--rank", "2"]
    if agent == "dqn":
        args += ["--num-envs", "2"]
    if agent == "rainbow":
        args += ["--overlap"]
    assert main(args) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "replay takes up to" in printed.out
    rows = metrics(out)
    assert rows
    assert {row["kind"] for row in rows} == {"train"}
    assert all(np.isfinite(row["loss"]) for row in rows)
    if agent == "hgqn":
        assert main(["evaluate", str(out), "--episodes", "1"]) == 0
        assert "mean" in capsys.readouterr().out


def test_learning_rewards_are_clipped_and_reported_ones_are_not():
    env = make("ALE/BankHeist-v5", max_episode_steps=400)
    config = parse_train(["ALE/BankHeist-v5", *SMALL[:6], "--learning-starts", "10000"]).config
    trainer = Trainer(config.build(env.sizes, env.observation_shape), Single(env), 0)
    ended = []
    while not any(episode.total for episode in ended):
        ended += trainer.advance()
    rewards = trainer.replay.ring.numbers.arrays.reward
    assert set(np.unique(rewards)) <= {-1.0, 0.0, 1.0}
    assert max(episode.total for episode in ended) >= 10
    assert rewards.sum() < sum(episode.total for episode in ended)


@pytest.mark.parametrize(("num_envs", "times"), [("1", 1), ("2", 1)])
def test_a_game_that_is_killed_is_the_game_that_never_stopped(
    num_envs, times, tmp_path, monkeypatch
):
    config = parse_train([
        "ALE/BankHeist-v5", "--agent", "hg-rainbow", *SMALL, "--steps", "270", "--phase-steps",
        "180", "--checkpoint-steps", "70", "--max-episode-steps", "90", "--num-envs", num_envs,
    ])  # fmt: skip
    killer = Killer(monkeypatch)
    train_in(tmp_path / "whole", config)
    whole = metrics(tmp_path / "whole")
    assert len(whole) == 2
    assert all(np.isfinite(row["loss"]) for row in whole)
    moments = np.random.default_rng(0).choice(len(killer.seen), times, replace=False)
    for number, moment in enumerate(moments):
        killer.left = int(moment)
        with pytest.raises(KilledError):
            train_in(tmp_path / str(number), config)
        killer.left = None
        train_in(tmp_path / str(number), config)
        assert metrics(tmp_path / str(number)) == whole, killer.seen[moment]
