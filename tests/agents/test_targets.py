"""How the target network follows."""

import jax
import numpy as np

from tests.agents.samples import agent_for, batch_for, init, update


def test_the_target_is_copied_or_mixed_in():
    agent = agent_for(learning_rate=0.1)
    state, _ = update(agent, init(agent), batch_for(agent))
    old, new = state.target.blocks.biases, state.online.blocks.biases
    assert not np.allclose(old, new)
    np.testing.assert_array_equal(agent.update_target(state).target.blocks.biases, new)
    mixing = agent_for(learning_rate=0.1, target="polyak", rate=0.25)
    start = init(mixing)
    mixed, _ = update(mixing, start, batch_for(mixing))
    expected = 0.75 * start.target.blocks.biases + 0.25 * mixed.online.blocks.biases
    np.testing.assert_allclose(mixed.target.blocks.biases, expected, rtol=1e-5, atol=1e-7)


def test_the_target_network_acts_where_it_is_asked_to():
    best = {}
    for name in ("online", "target"):
        agent = agent_for(act_by=name)
        state = init(agent)._replace(target=init(agent, 1).online)
        observations = batch_for(agent, count=20).observation
        best[name] = np.asarray(jax.vmap(agent.act, in_axes=(None, 0))(state, observations))
        network = getattr(state, name)
        expected = jax.vmap(network.greedy)(observations)
        np.testing.assert_array_equal(best[name], expected)
    assert (best["online"] != best["target"]).any()
