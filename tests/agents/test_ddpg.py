"""Deep deterministic policy gradients, against a slow reference."""

import numpy as np
import pytest

from hyperaction.agents.config import DDPGConfig
from hyperaction.agents.parts import with_changes
from hyperaction.constraints import Constraints, Mask
from tests.agents.samples import agent_for, batch_for, init, update
from tests.modules import numbers_of


@numbers_of
def criticised(networks, observation, action=None):
    """The value of an action, by default that of the policy."""
    action = networks.actor(observation) if action is None else action
    return networks.critic(observation, action)


def test_ddpg_learns_by_its_two_gradients():
    config = with_changes(DDPGConfig(hidden=(8, 6), batch_size=6), {"target.rate": 0.25})
    agent = config.build((1, 1), (4,))
    state = init(agent)
    actions = np.random.default_rng(1).uniform(-1, 1, (6, 2)).astype(np.float32)
    batch = batch_for(agent_for())._replace(action=actions)
    new, info = update(agent, state, batch)
    for row in range(6):
        following = criticised(state.target, batch.next_observation[row])
        target_value = batch.reward[row] + batch.discount[row] * following
        value = criticised(state.online, batch.observation[row], batch.action[row])
        np.testing.assert_allclose(
            info.losses[row], (target_value - value) ** 2, rtol=1e-3, atol=1e-6
        )

    def worth(actor):
        return sum(criticised(state.online._replace(actor=actor), o) for o in batch.observation)

    assert worth(new.online.actor) > worth(state.online.actor)
    old, online = (np.asarray(s.online.actor.layers[0].weight) for s in (state, new))
    mixed = 0.75 * old + 0.25 * online
    np.testing.assert_allclose(new.target.actor.layers[0].weight, mixed, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="cannot obey an action mask"):
        agent.act(state, batch.observation[0], Mask(np.ones(2, bool), Constraints((2,))))


def test_ddpg_refuses_what_it_has_no_use_for():
    with pytest.raises(ValueError, match="prioritised is not for ddpg"):
        DDPGConfig(prioritised=True)
    with pytest.raises(ValueError, match="hidden needs at least two layers"):
        DDPGConfig(hidden=(8,))
