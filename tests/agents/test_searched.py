"""Agents whose actions are looked for: action-in, logarithmic, and the setting `maximise`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.objectives import Logarithmic
from hyperaction.agents.parts import with_changes
from hyperaction.agents.presets import config_for
from hyperaction.errors import SettingError
from tests.agents.samples import agent_for, batch_for, init, update
from tests.modules import numbers_of

LOG = {"objective": "logarithmic", "discount": 0.9, "k": 30}


@pytest.mark.parametrize(
    "changes",
    [
        {"mixer": "sum", "beta_reg": 0.3},
        {"mixer": "monotonic", "double": True, "q_init": 1.0, "loss": "huber", "beta_reg": 1.0},
    ],
    ids=str,
)
def test_logarithmic_losses_equal_a_slow_reference(changes):
    agent = agent_for(**LOG, **changes)
    state = init(agent)._replace(target=init(agent, 1).online)
    batch = batch_for(agent)
    batch = batch._replace(reward=0.02 * batch.reward)  # Low, so that they limit values.
    _, info = update(agent, state, batch)
    c, lowest, beta = 0.5, 0.9**30, changes["beta_reg"]
    highest = float(abs(batch.reward).max()) / (1 - 0.9)
    limited = 0
    inits = [max(changes.get("q_init", 0.0), lowest), lowest]
    logs_of = numbers_of(lambda network, o, a: network.logs(o, a))
    values_of = numbers_of(lambda network, o: jax.vmap(network.q_values)(o))
    every = [values_of(network, batch.next_observation) for network in state[:2]]
    for row in range(6):
        best = every[0 if "double" in changes else 1][row].argmax()
        action = agent.hypergraph.all_actions()[best]
        own = logs_of(state.online, batch.observation[row], batch.action[row])
        following = logs_of(state.target, batch.next_observation[row], action)
        expected = 0.0
        for sign, log, next_log, start in zip((1, -1), own, following, inits, strict=True):
            value = start * np.exp(float(log) / c)
            next_value = min(start * np.exp(float(next_log) / c), highest)
            limited += next_value == highest
            reward = max(sign * float(batch.reward[row]), 0.0)
            target = max(reward + float(batch.discount[row]) * next_value, lowest)
            average = value + beta * (target - value)
            error = c * np.log(average / start) - float(log)
            size = abs(error)
            huber = 0.5 * error**2 if size <= 1 else size - 0.5
            expected += huber if "loss" in changes else error**2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)
    assert 0 < limited < 12


def chain(discount):
    """All transitions of a chain of three states, and the values of their actions.

    Both switches on move on, which is worth 1 in the end; both off are a loss; else one stays.
    """
    actions = [(s, a) for s in range(3) for a in np.ndindex(2, 2)]
    reward = np.array(
        [1.0 if (s, a) == (2, (1, 1)) else -0.5 if a == (0, 0) else 0.0 for s, a in actions]
    )
    following = np.array([s + (a == (1, 1)) for s, a in actions])
    values = np.zeros(4)
    for _ in range(100):
        found = reward + discount * values[following]
        values[:3] = found.reshape(3, 4).max(axis=1)
    return actions, reward, following, found


def test_logarithmic_learning_finds_the_values_of_a_chain():
    actions, reward, following, expected = chain(0.7)
    agent = agent_for(
        (2, 2), objective="logarithmic", discount=0.7, k=25, beta_reg=0.5, orders=(1, 2),
        learning_rate=0.01, target="polyak", rate=0.2, **{"optimiser.epsilon": 1e-8},
    )  # fmt: skip
    observed = np.eye(4, dtype=np.float32)
    batch = batch_for(agent, len(actions))._replace(
        observation=jnp.asarray(observed[[s for s, _ in actions]]),
        action=jnp.asarray([a for _, a in actions], jnp.int32),
        reward=jnp.asarray(reward, jnp.float32),
        discount=jnp.asarray(np.where(following == 3, 0.0, 0.7), jnp.float32),
        next_observation=jnp.asarray(observed[following]),
    )
    state = init(agent)
    for _ in range(600):
        state, _ = update(agent, state, batch)
    found = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_logarithms_too_large_for_exponentials_are_learned_from():
    agent = agent_for(**LOG)
    batch = batch_for(agent)
    far = {name: 1e3 * getattr(batch, name) for name in ("observation", "next_observation")}
    batch = batch._replace(**far)
    state, info = update(agent, init(agent), batch)
    logs = jax.jit(jax.vmap(state.target.logs))(batch.observation, batch.action)
    assert np.abs(np.asarray(logs)).max() > 0.5 * 100
    assert np.isfinite(info.losses).all()
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(state.online))
    best = jax.jit(jax.vmap(state.online.greedy))(batch.observation)
    assert (np.asarray(best) >= 0).all()


def test_action_in_losses_equal_a_slow_reference():
    agent = agent_for(action_in=True)
    state = init(agent)._replace(target=init(agent, 1).online)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    every = numbers_of(jax.vmap(state.target.q_values))(batch.next_observation)
    taken = numbers_of(jax.vmap(state.online))(batch.observation, batch.action)
    for row in range(6):
        target = batch.reward[row] + batch.discount[row] * every[row].max()
        np.testing.assert_allclose(info.losses[row], (target - taken[row]) ** 2, rtol=1e-3)


def with_spike(network, action, value=1000.0):
    """The network with a table's one entry far above all others."""
    from equinox import tree_at

    place = int(network.hypergraph.indices(np.asarray(action))[0])
    return tree_at(lambda n: n.blocks.biases, network, network.blocks.biases.at[place].set(value))


def test_sampling_looks_at_the_actions_of_the_batch():
    spiky = (133, 8)
    agent = agent_for((150, 150), orders=(-1,), double=True, maximise="sampling", total_width=5)
    batch = batch_for(agent)
    batch.action[5] = spiky
    state = init(agent)
    spiked = with_spike(state.target, spiky)
    _, info = update(agent, state._replace(online=spiked, target=spiked), batch)
    each = numbers_of(jax.vmap(lambda o, a: spiked(o, a)))
    best = each(batch.next_observation, np.tile(np.array(spiky, np.int32), (6, 1)))
    taken = each(batch.observation, batch.action)
    expected = (batch.reward + batch.discount * best - taken) ** 2
    np.testing.assert_allclose(info.losses, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action_in": True, "objective": "soft"}, "`objective` must be td"),
        ({"action_in": True, "objective": "quantile"}, "`objective` must be td"),
        ({"action_in": True, "objective": "logarithmic"}, "`objective` must be td"),
        ({"action_in": True, "mixer": "qmix"}, "`mixer` must stay sum or mean"),
        ({"action_in": True, "dueling": True}, "not with `dueling`"),
        ({"action_in": True, "critics": 2}, "`critics` 1"),
        (LOG | {"dueling": True}, "not with `dueling`"),
        (LOG | {"critics": 2}, "`critics` 1"),
        (LOG | {"discount": 0.05}, "must be at least 1e-30"),
        (LOG | {"c": 0.0}, "`objective.c` must be above 0, not 0.0"),
        (LOG | {"beta_reg": 1.5}, "`objective.beta_reg` must be above 0 and at most 1, not 1.5"),
        (LOG | {"q_init": -1.0}, "`objective.q_init` must be at least 0, not -1.0"),
    ],
    ids=str,
)
def test_what_cannot_combine_is_refused(changes, message):
    with pytest.raises(SettingError) as error:
        with_changes(QLearningConfig(), changes)
    assert message in error.value.template


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"maximise": "decentralised"}, "`maximise` decentralised: decentralised needs rank 1"),
        (
            {"maximise": "elimination", "mixer": "universal"},
            "`maximise` elimination: elimination needs a mixer that is a weighted sum",
        ),
        ({"maximise": "magic"}, "`maximise` magic: unknown way 'magic'; choose from decentralised"),
        ({"maximise": "ascent", "action_in": True}, "`maximise` ascent: these values are not"),
        (LOG | {"maximise": "ascent"}, "`maximise` ascent: these values are not mixed"),
        (
            {"maximise": "sampling", "objective": "soft"},
            "`maximise` sampling: sampling gives no exact soft values",
        ),
        ({"mixer": "universal", "objective": "soft", "orders": (1,)}, None),
    ],
    ids=str,
)
def test_ways_that_cannot_serve_are_refused_at_the_start(changes, message):
    agent = agent_for(**changes)
    if message is None:  # Few joint actions, which are all looked at.
        jax.eval_shape(agent.init, jax.random.key(0))
        return
    with pytest.raises(SettingError) as error:
        jax.eval_shape(agent.init, jax.random.key(0))
    assert message in error.value.template


def test_a_rank_is_refused_where_there_are_no_hyperedges():
    with pytest.raises(SettingError, match="rank 2: a network that takes the action in has no"):
        config_for("action-in", "physical", rank=2)
    assert config_for("action-in", "modern").heads.action_in
    assert isinstance(config_for("hgqn", "modern", changes=LOG).objective, Logarithmic)
