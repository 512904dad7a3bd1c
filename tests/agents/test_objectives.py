"""Objectives against slow references."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.agents.samples import agent_for, batch_for, init, update


@jax.jit
def outputs_of(network, observation):
    return network.outputs(observation)


@jax.jit
def value_of(network, observation):
    hidden, value = network.value_stream
    return value(jax.nn.relu(hidden(network.state_network(observation))))[0]


@pytest.mark.parametrize(
    ("double", "mixer", "dueling"),
    [(False, "sum", False), (True, "sum", True), (True, "universal", False), (False, "qmix", True)],
)
def test_losses_equal_a_slow_reference(double, mixer, dueling):
    agent = agent_for(double=double, mixer=mixer, dueling=dueling)
    state = init(agent)
    other = init(agent, 1).online
    state = state._replace(target=other)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)
    every = [np.asarray(jax.jit(jax.vmap(n.q_values))(batch.next_observation)) for n in state[:2]]
    taken = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
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
    state = init(agent)
    state = state._replace(target=init(agent, 1).online)
    batch = batch_for(agent)
    _, info = update(agent, state, batch)

    def vertices(network, observation):
        outputs = np.asarray(outputs_of(network, observation))
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
    state = init(agent)
    weight = jnp.asarray([0.1, 0.2, 0.3, 0.4, 0.5, 1.0])
    _, info = update(agent, state, batch_for(agent, weight=weight))
    np.testing.assert_allclose(info.loss, (weight * info.losses).mean(), rtol=1e-5)


def test_targets_obey_masks():
    agent = agent_for(orders=(1,))
    state = init(agent)
    batch = batch_for(agent)
    mask = jnp.asarray(np.random.default_rng(1).random((6, 5)) < 0.5).at[:, [0, 3]].set(True)
    _, info = update(agent, state, batch._replace(next_mask=mask))
    every = np.asarray(jax.jit(jax.vmap(state.target.q_values))(batch.next_observation))
    taken = jax.jit(jax.vmap(state.online))(batch.observation, batch.action)
    chosen = jax.jit(jax.vmap(partial(agent.act, state)))(batch.observation, mask)
    for row in range(6):
        values = every[row].reshape(3, 2)
        legal = np.asarray(mask[row, :3])[:, None] & np.asarray(mask[row, 3:])[None]
        target = batch.reward[row] + batch.discount[row] * values[legal].max()
        expected = (target - taken[row]) ** 2
        np.testing.assert_allclose(info.losses[row], expected, rtol=1e-3, atol=1e-5)
        assert legal[tuple(np.asarray(chosen[row]))]
