"""Updates that are computed while the environment steps."""

import time

import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hyperaction.api import HGRainbow
from hyperaction.training.compiled import FlatState
from hyperaction.training.config import parse_train
from tests.killing import KilledError, Killer, metrics, train_in
from tests.training.envs import TINY, Counting


class Pausing(Counting):
    """Counting, in an environment that is slower than the updates."""

    def step(self, action):
        time.sleep(0.003)
        return super().step(action)


def test_the_next_actions_are_those_of_the_parameters_before_the_update():
    trainer = HGRainbow(Counting(with_mask=True), overlap=True, **TINY).learn(12).trainer
    for _ in range(4):
        before = jax.tree.map(np.array, trainer.state.leaves)
        trainer.advance()
        old = jax.tree.unflatten(trainer.state.structure, before)
        observed = (trainer.env.observation, trainer.env.mask)
        expected = trainer.compiled.act(FlatState(old), *observed)
        np.testing.assert_array_equal(trainer.next_greedy, expected)
        assert any((a != b).any() for a, b in zip(before, trainer.state.leaves, strict=True))


def vector(kind):
    lengths = [lambda: kind(3, True), lambda: kind(4, True)]
    return SyncVectorEnv(lengths, autoreset_mode=AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("make", [lambda kind: kind(4, True), vector], ids=["one", "vector"])
def test_what_is_learned_does_not_depend_on_how_fast_the_environment_is(make):
    agents = [HGRainbow(make(kind), overlap=True, **TINY).learn(30) for kind in (Counting, Pausing)]
    fast, slow = (jax.tree.leaves(agent.state) for agent in agents)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("num_envs", "times"), [("1", 2), ("2", 1)])
def test_a_run_that_is_killed_is_the_run_that_never_stopped(num_envs, times, tmp_path, monkeypatch):
    pytest.importorskip("pybullet_envs_gymnasium")
    config = parse_train([
        "ReacherBulletEnv-v0", "--agent", "hg-rainbow", "--rank", "2", "--overlap", "--steps",
        "240", "--hidden", "8", "--learning-starts", "64", "--buffer-size", "100", "--batch-size",
        "8", "--phase-steps", "150", "--evaluation-steps", "0", "--checkpoint-steps", "40",
        "--num-envs", num_envs, "--loggers",
    ])  # fmt: skip
    killer = Killer(monkeypatch)
    train_in(tmp_path / "whole", config)
    whole = metrics(tmp_path / "whole")
    moments = np.random.default_rng(0).integers(len(killer.seen), size=times)
    for number, moment in enumerate(moments):
        killer.left = int(moment)
        with pytest.raises(KilledError):
            train_in(tmp_path / str(number), config)
        killer.left = None
        train_in(tmp_path / str(number), config)
        assert metrics(tmp_path / str(number)) == whole, killer.seen[moment]
