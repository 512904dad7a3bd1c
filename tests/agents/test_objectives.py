"""Objectives against slow references."""

from functools import partial
from itertools import combinations
from operator import itemgetter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction.errors import SettingError
from hyperaction.maximise.masks import as_mask
from hyperaction.networks.ensemble import Ensemble, Identity
from tests.agents.samples import agent_for, batch_for, init, random_state, update
from tests.modules import numbers_of


@numbers_of
def outputs_of(network, observation):
    return network.outputs(observation)


@numbers_of
def values_of(network, observations):
    return jax.vmap(network.q_values)(observations)


@numbers_of
def taken_of(network, observations, actions):
    return jax.vmap(network)(observations, actions)


@numbers_of
def value_of(network, observation):
    hidden, value = network.value_stream
    return value(jax.nn.relu(hidden(network.state_network(observation))))[0]


@pytest.mark.parametrize(
    ("double", "mixer", "dueling"),
    [(False, "sum", False), (True, "sum", True), (True, "universal", False), (False, "qmix", True)],
)
def test_losses_equal_a_slow_reference(double, mixer, dueling):
    agent = agent_for(double=double, mixer=mixer, dueling=dueling)
    state = random_state(agent)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    every = [values_of(network, batch.next_observation) for network in state[:2]]
    taken = taken_of(state.online, batch.observation, batch.action)
    for row in range(6):
        values = [table[row] for table in every]
        best = values[1][values[0].argmax()] if double else values[1].max()
        target = batch.reward[row] + batch.discount[row] * best
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(info.loss, info.losses.mean(), rtol=1e-5)


@pytest.mark.parametrize("towards", ["mean", "max", "independent"])
@pytest.mark.parametrize(("double", "dueling"), [(False, False), (True, True)])
def test_branching_losses_equal_a_slow_reference(towards, double, dueling):
    agent = agent_for(
        orders=(1,), objective="branching", towards=towards, double=double, dueling=dueling
    )
    state = random_state(agent)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)

    def vertices(network, observation):
        outputs = outputs_of(network, observation)
        tables = [outputs[part] for part in agent.hypergraph.slices]
        if not dueling:
            return tables
        base = value_of(network, observation)
        return [table - table.mean() + base for table in tables]

    for row in range(6):
        chooser = state.online if double else state.target
        best = [table.argmax() for table in vertices(chooser, batch.next_observation[row])]
        evaluated = vertices(state.target, batch.next_observation[row])
        following = np.array([table[b] for table, b in zip(evaluated, best, strict=True)])
        next_values = {
            "mean": np.full(2, following.mean()),
            "max": np.full(2, following.max()),
            "independent": following,
        }[towards]
        targets = batch.reward[row] + batch.discount[row] * next_values
        tables = vertices(state.online, batch.observation[row])
        taken = np.array([t[a] for t, a in zip(tables, batch.action[row], strict=True)])
        expected = ((targets - taken) ** 2).mean()
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)


def test_branching_needs_every_vertex_in_one_hyperedge():
    with pytest.raises(ValueError, match="every vertex must be in exactly one of them"):
        agent_for(orders=(1, 2), objective="branching")


def test_weights_scale_each_transitions_loss():
    agent = agent_for()
    state = random_state(agent)
    weight = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 1.0], np.float32)
    _, info = update(agent, state, batch_for(agent, weight=weight))
    np.testing.assert_allclose(info.loss, (weight * info.losses).mean(), rtol=1e-5)


def test_targets_obey_masks():
    agent = agent_for(orders=(1,))
    state = random_state(agent)
    batch = batch_for(agent)
    mask = np.random.default_rng(1).random((6, 5)) < 0.5
    mask[:, [0, 3]] = True
    _, info = update(agent, state, batch._replace(next_mask=as_mask(agent.hypergraph, mask)))
    every = values_of(state.target, batch.next_observation)
    taken = taken_of(state.online, batch.observation, batch.action)
    act = numbers_of(jax.vmap(partial(agent.act, state)))
    chosen = act(batch.observation, as_mask(agent.hypergraph, mask))
    for row in range(6):
        values = every[row].reshape(3, 2)
        legal = mask[row, :3][:, None] & mask[row, 3:][None]
        target = batch.reward[row] + batch.discount[row] * values[legal].max()
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)
        assert legal[tuple(chosen[row])]


@numbers_of
def tables_of(blocks, heads):
    """The tables of each quantile."""
    both = [
        jax.tree.map(itemgetter(n), (blocks.weights, blocks.biases))
        for n in range(len(blocks.biases))
    ]
    leaves = [eqx.tree_at(lambda b: (b.weights, b.biases), blocks, each) for each in both]
    return jnp.stack([leaf.outputs(heads) for leaf in leaves])


@numbers_of
def q_values_of(network, observation):
    return network.q_values(observation)


@numbers_of
def action_value(network, observation, action):
    return network(observation, action)


@numbers_of
def heads_of(network, observation):
    state = network.state_network(observation)
    heads = network.blocks.heads(state)
    return state, heads, network.blocks.mean.table_means(heads)


@numbers_of
def mixed(network, representation, state):
    return network.mixer(representation, state)


def quantiles_of(network, observation, action):
    """The quantiles of a return, hyperedge by hyperedge."""
    state, heads, table = heads_of(network, observation)
    place = network.hypergraph.indices(np.asarray(action))
    tables = tables_of(network.blocks, heads)
    rows = [tables[:, each] for each in place]
    means = np.array([row.mean() for row in rows], np.float32)
    weights = np.ones(len(rows))
    if network.mixer.affine:
        weights = np.asarray(network.mixer.weights(len(rows)))
    around = sum(w * (row - row.mean()) for w, row in zip(weights, rows, strict=True))
    value = mixed(network, means, state)
    if network.value_stream is not None:
        value = value + value_of(network, observation) - mixed(network, table, state)
    return value + around


def critics_of(network):
    """Each critic as a network of its own."""
    if not isinstance(network, Ensemble):
        return [network]
    count = network.members.blocks.biases.shape[0]
    members = jax.tree.map(np.asarray, network.members)
    alone = [jax.tree.map(lambda leaf, n=n: leaf[n], members) for n in range(count)]
    if not isinstance(network.state_network, Identity):
        alone = [eqx.tree_at(lambda m: m.state_network, m, network.state_network) for m in alone]
    return alone


def best_of(network, observation):
    """The action of the largest mean of all critics' values."""
    values = np.mean([q_values_of(c, observation) for c in critics_of(network)], axis=0)
    return network.hypergraph.all_actions()[values.argmax()]


@pytest.mark.parametrize(
    ("changes", "double"),
    [
        ({"mixer": "mean", "dueling": True}, False),
        ({"mixer": "qmix"}, True),
        ({"mixer": "order-mean", "critics": 3, "drop_quantiles": 2}, False),
        ({"mixer": "monotonic-linear", "critics": 2, "shared_state": False}, True),
    ],
)
def test_quantile_losses_equal_a_slow_reference(changes, double):
    agent = agent_for(objective="quantile", quantiles=5, double=double, **changes)
    state = random_state(agent)
    batch = batch_for(agent, count=3)
    _, info = update(agent, state, batch)
    for row in range(3):
        observation, following = batch.observation[row], batch.next_observation[row]
        chosen = best_of(state.online if double else state.target, following)
        targets = [quantiles_of(c, following, chosen) for c in critics_of(state.target)]
        pooled = np.sort(np.concatenate(targets))
        pooled = pooled[: len(pooled) - len(targets) * changes.get("drop_quantiles", 0)]
        pooled = batch.reward[row] + batch.discount[row] * pooled
        losses = []
        for critic in critics_of(state.online):
            own = quantiles_of(critic, observation, batch.action[row])
            for number, quantile in enumerate(own):
                share = (number + 0.5) / 5
                for wanted in pooled:
                    error = wanted - quantile
                    size = abs(error)
                    huber = 0.5 * error**2 if size <= 1 else size - 0.5
                    losses.append(abs(share - (error < 0)) * huber)
        np.testing.assert_allclose(info.losses[row], np.mean(losses), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("target_critics", "shared"), [("mean", True), ("min", False), ("pair", True), ("pair", False)]
)
def test_losses_of_several_critics_equal_a_slow_reference(target_critics, shared):
    double = shared
    agent = agent_for(
        critics=3, shared_state=shared, target_critics=target_critics, double=double, mixer="mean"
    )
    state = random_state(agent)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    pairs = list(combinations(range(3), 2))
    fitting = []
    for pair in pairs if target_critics == "pair" else [range(3)]:
        expected = []
        for row in range(6):
            following = batch.next_observation[row]
            chosen = best_of(state.online if double else state.target, following)
            values = [float(action_value(c, following, chosen)) for c in critics_of(state.target)]
            values = [values[each] for each in pair]
            best = np.mean(values) if target_critics == "mean" else min(values)
            target = batch.reward[row] + batch.discount[row] * best
            taken = (batch.observation[row], batch.action[row])
            own = [action_value(c, *taken) for c in critics_of(state.online)]
            expected.append(np.mean([(target - value) ** 2 for value in own]))
        fitting.append(np.allclose(info.losses, expected, rtol=1e-3, atol=1e-5))
    assert sum(fitting) == 1


def test_a_pair_of_critics_is_drawn_anew_for_every_update():
    agent = agent_for(critics=4, target_critics="pair", learning_rate=1e-30)
    state, batch = init(agent), batch_for(agent)
    losses = set()
    for _ in range(12):
        state, info = update(agent, state, batch)
        losses.add(float(info.loss))
    assert 3 < len(losses) <= 6


def test_an_entrys_value_is_the_mean_of_its_quantiles():
    agent = agent_for(objective="quantile", quantiles=7, critics=2)
    network, batch = random_state(agent).online, batch_for(agent)

    @numbers_of
    def everything(batch):
        given = batch.observation, batch.action
        values, quantiles = jax.vmap(network)(*given), jax.vmap(network.quantiles)(*given)
        every, greedy = (jax.vmap(f)(given[0]) for f in (network.q_values, network.greedy))
        return values, quantiles, every, greedy

    values, quantiles, every, greedy = everything(batch)
    assert quantiles.shape == (6, 2, 7)
    np.testing.assert_allclose(values, quantiles.mean(axis=(1, 2)), rtol=1e-4, atol=1e-5)
    found = network.hypergraph.all_actions()[every.argmax(axis=1)]
    np.testing.assert_array_equal(greedy, found)


def test_soft_values_of_several_critics_equal_a_slow_reference():
    temperature = 0.3
    agent = agent_for(
        objective="soft", temperature=temperature, critics=3, target_critics="min", mixer="mean"
    )
    state = init(agent)._replace(target=init(agent, 1).online)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    for row in range(6):
        following = batch.next_observation[row]
        each = np.array([q_values_of(c, following) for c in critics_of(state.target)])
        weights = np.exp(each.mean(axis=0) / temperature)
        policy = weights / weights.sum()
        entropy = -(policy * np.log(policy)).sum()
        value = min((policy * values).sum() for values in each) + temperature * entropy
        target = batch.reward[row] + batch.discount[row] * value
        taken = (batch.observation[row], batch.action[row])
        own = [action_value(c, *taken) for c in critics_of(state.online)]
        expected = np.mean([(target - value) ** 2 for value in own])
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("munchausen", [0.0, 0.9])
def test_soft_losses_equal_a_slow_reference(munchausen):
    temperature = 0.3
    agent = agent_for(objective="soft", temperature=temperature, munchausen=munchausen)
    state = random_state(agent)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    now, following = (
        values_of(state.target, o).astype(np.float64)
        for o in (batch.observation, batch.next_observation)
    )
    taken = taken_of(state.online, batch.observation, batch.action)
    for row in range(6):
        soft = temperature * np.log(np.exp(following[row] / temperature).sum())
        action = np.ravel_multi_index(batch.action[row], (3, 2))
        log_policy = now[row] - temperature * np.log(np.exp(now[row] / temperature).sum())
        bonus = munchausen * np.clip(log_policy[action], -1.0, 0.0)
        target = batch.reward[row] + bonus + batch.discount[row] * soft
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)


def test_the_temperature_finds_the_entropy_aimed_for():
    agent = agent_for(
        objective="soft", target_entropy=0.5, temperature_rate=0.05, learning_rate=1e-30
    )
    state, batch = init(agent), batch_for(agent)
    for _ in range(400):
        state, info = update(agent, state, batch)
    np.testing.assert_allclose(info.statistics["entropy"], 0.5 * np.log(6), rtol=0.01)


def test_parts_that_do_not_fit_together_are_refused():
    with pytest.raises(SettingError, match="critics above 1 act by the mean of their values"):
        init(agent_for(critics=2, mixer="universal"))
    with pytest.raises(SettingError, match="branching takes one critic"):
        agent_for(orders=(1,), objective="branching", critics=2)
    with pytest.raises(SettingError, match=r"objective.drop_quantiles must be below"):
        agent_for(objective="quantile", quantiles=5, drop_quantiles=5)
    with pytest.raises(SettingError, match="grow masks sub-actions, which munchausen cannot"):
        agent_for(objective="soft", munchausen=0.9, grow="linear")
    with pytest.raises(SettingError, match="action_in needs hidden units"):
        agent_for(action_in=True, total_width=0)
    agent_for(objective="soft").check_masks()
    with pytest.raises(SettingError, match="what was allowed then is not stored"):
        agent_for(objective="soft", munchausen=0.9).check_masks()
