"""Agents learn what they can represent."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.agents.targets import Polyak
from hyperaction.api import BDQN, DDPG, DQN, HGQN, ActionIn, HGRainbow, Rainbow
from tests.modules import called
from tests.training.envs import Aiming, Climbing

SMALL: dict[str, Any] = {
    "hidden": (32,), "total_width": 64, "learning_rate": 5e-3, "optimiser.epsilon": 1e-8,
    "learning_starts": 100, "interval": 50, "final": 1.0,
}  # fmt: skip


def without_interval(settings):
    """Targets that follow at every update are not copied at intervals."""
    copied = settings.get("target", "copy") == "copy"
    return settings if copied else {k: v for k, v in settings.items() if k != "interval"}


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        (HGQN, {"rank": 1}, 0.5),
        (HGQN, {"rank": 2}, 1.1),
        (DQN, {}, 1.1),
        (HGQN, {"rank": 2, "mixer": "universal"}, 1.1),
        (Rainbow, {}, 1.1),
        (HGRainbow, {"rank": 2}, 1.1),
        (HGQN, {"rank": 2, "layer_norm": True, "target": Polyak(0.05), "loss": "huber"}, 1.1),
        (ActionIn, {}, 1.1),
        (BDQN, {"towards": "independent", "dueling": True, "double": True}, 0.5),
    ],
    ids=str,
)
def test_only_agents_that_see_pairs_climb(kind, changes, expected):
    agent = kind(Climbing(), **without_interval({**SMALL, **changes})).learn(900)
    returns = [episode.total for episode in agent.evaluate(Climbing(), 200)]
    assert np.mean(returns) == pytest.approx(expected, abs=0.05)


def test_ddpg_finds_the_aim():
    agent = DDPG(
        Aiming(), hidden=(64, 64), learning_starts=200, actor_learning_rate=1e-3, weight_decay=0.0,
        buffer_size=5000,
    )  # fmt: skip
    before = np.mean([episode.total for episode in agent.evaluate(Aiming(), 100)])
    agent.learn(1800)
    after = np.mean([episode.total for episode in agent.evaluate(Aiming(), 100)])
    assert before < -0.2
    assert after > -0.03


class TwoSteps(gymnasium.Env):
    """The first action leads to one of two rooms; only there is a reward."""

    observation_space = spaces.Box(0, 2, (1,))
    action_space = spaces.MultiDiscrete([2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room = 0
        return np.array([0.0], np.float32), {}

    def step(self, action):
        reward, over = (0.0, False) if self.room == 0 else (float(self.room == 2), True)
        self.room = 1 + int(action[0])
        return np.array([self.room % 3], np.float32), reward, over, False, {}


@pytest.mark.parametrize(
    "changes",
    [
        {"interval": 50},
        {"target": "polyak", "rate": 0.05},
        {"n_step": 2, "optimiser": "rmsprop", "optimiser.epsilon": 1e-5},
    ],
)
def test_values_travel_back_through_the_target_network(changes):
    agent = HGQN(TwoSteps(), **without_interval({**SMALL, "discount": 0.5, **changes})).learn(1500)
    online = agent.state.online
    values = called(online.q_values, np.zeros(1, np.float32))
    np.testing.assert_allclose(values, [0.0, 0.5], atol=0.07)
