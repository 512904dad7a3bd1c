import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction import Hypergraph
from hyperaction.agents.settings import AGENTS, ValueSettings, preset
from hyperaction.agents.value import Minibatch, ValueAgent
from hyperaction.environments import Factored
from hyperaction.environments.actions import action_map
from hyperaction.losses import huber, squared, td_target
from hyperaction.training import Training, exploration


def agent_for(sizes=(3, 2), **changes):
    small = {"hidden": (16,), "total_width": 20, "orders": (1, 2)}
    settings = ValueSettings(**{**small, **changes})
    return ValueAgent(settings, settings.hypergraph(sizes), (4,))


def minibatch(agent, count=6, seed=0, weight=None):
    random = np.random.default_rng(seed)
    discount = np.where(np.arange(count) % 3 == 0, 0.0, 0.9).astype(np.float32)
    return Minibatch(
        jnp.asarray(random.normal(size=(count, 4)).astype(np.float32)),
        jnp.asarray(random.integers(agent.hypergraph.sizes, size=(count, 2)).astype(np.int32)),
        jnp.asarray(random.normal(size=count).astype(np.float32)),
        jnp.asarray(discount),
        jnp.asarray(random.normal(size=(count, 4)).astype(np.float32)),
        None,
        weight,
    )


@pytest.mark.parametrize(
    ("double", "mixer", "dueling"),
    [(False, "sum", False), (True, "sum", True), (True, "universal", False), (False, "qmix", True)],
)
def test_losses_equal_a_slow_reference(double, mixer, dueling):
    agent = agent_for(double=double, mixer=mixer, dueling=dueling)
    state = agent.start(jax.random.key(0))
    other = agent.start(jax.random.key(1)).online
    state = state._replace(target=other)
    batch = minibatch(agent)
    _, learned = jax.jit(agent.learn)(state, batch)
    every = [np.asarray(jax.jit(jax.vmap(n.q_values))(batch.next_observation)) for n in state[:2]]
    taken = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
    for row in range(6):
        values = [table[row] for table in every]
        best = values[1][values[0].argmax()] if double else values[1].max()
        target = batch.reward[row] + batch.discount[row] * best
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(learned.losses[row], expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(learned.loss, learned.losses.mean(), rtol=1e-5)


def test_weights_scale_each_transitions_loss():
    agent = agent_for()
    state = agent.start(jax.random.key(0))
    weight = jnp.asarray([0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
    _, learned = agent.learn(state, minibatch(agent, weight=weight))
    np.testing.assert_allclose(learned.loss, (weight * learned.losses).mean(), rtol=1e-5)


def test_targets_obey_masks():
    agent = agent_for(orders=(1,))
    state = agent.start(jax.random.key(0))
    batch = minibatch(agent)
    mask = jnp.asarray(np.random.default_rng(1).random((6, 5)) < 0.5).at[:, [0, 3]].set(True)
    _, learned = agent.learn(state, batch._replace(next_mask=mask))
    for row in range(6):
        values = np.asarray(state.target.q_values(batch.next_observation[row])).reshape(3, 2)
        legal = np.asarray(mask[row, :3])[:, None] & np.asarray(mask[row, 3:])[None]
        target = batch.reward[row] + batch.discount[row] * values[legal].max()
        value = state.online(batch.observation[row], batch.action[row])
        np.testing.assert_allclose(learned.losses[row], (target - value) ** 2, rtol=1e-3, atol=1e-5)
        assert legal[tuple(agent.act(state, batch.observation[row], mask[row]))]


def test_the_target_is_copied_or_mixed_in():
    agent = agent_for(learning_rate=0.1)
    state, _ = agent.learn(agent.start(jax.random.key(0)), minibatch(agent))
    old, new = state.target.blocks.biases, state.online.blocks.biases
    assert not np.allclose(old, new)
    np.testing.assert_array_equal(agent.copy_target(state).target.blocks.biases, new)
    mixing = agent_for(learning_rate=0.1, polyak=0.25)
    start = mixing.start(jax.random.key(0))
    mixed, _ = mixing.learn(start, minibatch(mixing))
    expected = 0.75 * start.target.blocks.biases + 0.25 * mixed.online.blocks.biases
    np.testing.assert_allclose(mixed.target.blocks.biases, expected, rtol=1e-5, atol=1e-7)


def test_losses_by_hand():
    assert td_target(jnp.float32(1.0), jnp.float32(0.5), jnp.float32(4.0)) == 3.0
    assert td_target(jnp.float32(1.0), jnp.float32(0.0), jnp.float32(-jnp.inf)) == 1.0
    assert squared(jnp.float32(-3.0)) == 9.0
    np.testing.assert_allclose([huber(jnp.float32(x)) for x in (0.5, -1, 3)], [0.125, 0.5, 2.5])


def test_exploration_falls_from_one_after_learning_starts():
    settings = AGENTS["hgqn"]
    shares = [exploration(settings, step) for step in (0, 10_000, 35_000, 60_000, 10**6)]
    np.testing.assert_allclose(shares, [1.0, 1.0, 0.525, 0.05, 0.05])


def test_presets_are_data():
    assert AGENTS["rainbow"].double
    assert AGENTS["dqn"].hypergraph((3, 2)) == Hypergraph((3, 2), [(0, 1)])
    modern = preset("hgqn", "modern")
    changed = {
        f.name
        for f in dataclasses.fields(modern)
        if getattr(modern, f.name) != getattr(AGENTS["hgqn"], f.name)
    }
    assert changed == {
        "layer_norm", "n_step", "loss", "learning_rate", "gradient_clip", "polyak", "minibatch",
        "replay_size", "replay_start", "epsilon", "epsilon_steps",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"discount": 1.5}, "--discount 1.5 is not in 0 to 1"),
        ({"minibatch": 0}, "--minibatch 0 is below 1"),
        ({"replay_start": 3}, "--replay-start 3 is below --minibatch 64"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ValueSettings(**changes)


def test_hyperedges_can_be_given_by_hand():
    settings = ValueSettings(edges=("0", "1", "2", "0,2"))
    assert settings.hypergraph((3, 3, 2)) == Hypergraph((3, 3, 2), [(0,), (1,), (2,), (0, 2)])
    with pytest.raises(ValueError, match="vertices joined by commas, such as 0,3"):
        ValueSettings(edges=("0-1",)).hypergraph((3, 3))


class Climbing(gymnasium.Env):
    """A contextual bandit whose best joint action needs its pair: one slip of it is punished.

    On average over the other vertex, the third sub-action of each is best, and so it is for any
    sum over single vertices; in the other context, sub-actions count backwards.
    """

    PAYOFF = np.array([[1.1, -3.0, 0.0], [-3.0, 0.7, 0.6], [0.0, 0.0, 0.5]])

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.context = self.np_random.choice([-1.0, 1.0])
        return np.array([self.context], np.float32), {}

    def step(self, action):
        payoff = self.PAYOFF if self.context > 0 else self.PAYOFF[::-1, ::-1]
        reward = float(payoff[tuple(action)])
        return np.array([self.context], np.float32), reward, True, False, {}


RAINBOW = {"double": True, "dueling": True, "n_step": 3, "prioritised": True}


def climb(**changes):
    """The mean return of an agent that has learned from random actions."""
    settings = ValueSettings(
        hidden=(32,), total_width=64, learning_rate=5e-3, adam_epsilon=1e-8, minibatch=64,
        replay_start=100, target_period=50, epsilon=1.0, **changes,
    )  # fmt: skip
    envs = [Factored(env, action_map(env.action_space)) for env in (Climbing(), Climbing())]
    agent = ValueAgent(settings, settings.hypergraph((3, 3)), (1,))
    training = Training(agent, *envs, seed=0)
    for _ in range(1500):
        training.advance()
    return np.mean(training.evaluate(steps=200))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"orders": (1,)}, 0.5),
        ({"orders": (1, 2)}, 1.1),
        ({"orders": (-1,)}, 1.1),
        ({"orders": (1, 2), "mixer": "universal"}, 1.1),
        ({"orders": (-1,), **RAINBOW}, 1.1),
        ({"orders": (1, 2), "layer_norm": True, "polyak": 0.05, "loss": "huber"}, 1.1),
    ],
    ids=["hgqn rank 1", "hgqn rank 2", "dqn", "universal", "rainbow", "modern"],
)
def test_only_agents_that_see_pairs_climb(changes, expected):
    assert climb(**changes) == pytest.approx(expected, abs=0.05)


def train(out: Path, seed: int):
    args = ["train", "CartPole-v1", "--agent", "hgqn", "--steps", "300", "--seed", str(seed)]
    args += ["--hidden", "16", "--replay-start", "64", "--minibatch", "16", "--out", str(out)]
    args += ["--phase-steps", "150", "--evaluation-steps", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "hyperaction", *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
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
