"""Explorations, and what they remember."""

import copy

import numpy as np
import pytest

from hyperaction.agents.config import DDPGConfig
from hyperaction.agents.exploration import (
    Boltzmann,
    Disagreement,
    EpsilonGreedy,
    Extended,
    Ordinal,
)
from hyperaction.agents.objectives import TD
from hyperaction.agents.parts import with_changes
from hyperaction.agents.presets import AGENTS, config_for
from hyperaction.agents.schedules import Linear
from hyperaction.errors import SettingError
from hyperaction.maximise.masks import as_mask
from hyperaction.runs.state import check_like
from tests.agents.samples import agent_for


def test_noise_wanders_or_is_drawn_anew():
    zeros = np.zeros((2, 3), np.float32)
    walks = {}
    for name in ("ou", "gaussian"):
        config = with_changes(
            DDPGConfig(learning_starts=64), {"exploration": name, "exploration.scale": 0.1}
        )
        explorer = config.build((1, 1, 1), (4,)).explorer(2, np.random.default_rng(0))
        assert np.abs(explorer.explore(0, None, lambda: zeros)).max() > 0.3  # Random at first.
        walks[name] = np.stack([explorer.explore(99, None, lambda: zeros) for _ in range(2000)])
        explorer.begin_episode(0)
        assert not explorer.memory["noise"][0].any()
        assert explorer.memory["noise"][1].any()
        np.testing.assert_array_equal(explorer.evaluate(None, lambda: zeros), zeros)
    products = {name: np.mean(walk[1:] * walk[:-1]) for name, walk in walks.items()}
    assert products["ou"] / np.mean(walks["ou"] ** 2) == pytest.approx(0.85, abs=0.05)
    assert products["gaussian"] / np.mean(walks["gaussian"] ** 2) == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize(
    "exploration",
    [
        EpsilonGreedy(per_vertex=True),
        Extended(epsilon=Linear(0.5, 0.5, 1)),
        Extended(epsilon=Linear(0.5, 0.5, 1), per_vertex=True),
        Ordinal(noise="ou"),
        Ordinal(noise="pink"),
        Boltzmann(),
        Disagreement(),
    ],
    ids=str,
)
def test_an_explorer_of_joint_actions_that_is_restored_explores_as_the_first_does(exploration):
    greedy = np.full((2, 2), 4, np.int32)
    agent = agent_for((9, 9), learning_starts=64, exploration=exploration)
    one, other = (agent.explorer(2, np.random.default_rng(seed)) for seed in (0, 1))
    for step in range(99, 110):
        one.explore(step, None, lambda: greedy)
        one.inputs(step)
    state = one.state_dict()
    check_like(state, other.state_like())
    other.load_state_dict(copy.deepcopy(state))
    for step in range(110, 120):
        chosen = [each.explore(step, None, lambda: greedy) for each in (one, other)]
        np.testing.assert_array_equal(*chosen)
        inputs = [each.inputs(step) for each in (one, other)]
        np.testing.assert_equal(*inputs)


def test_an_explorer_that_is_restored_explores_as_the_first_does():
    greedy = np.zeros((2, 2), np.float32)
    agent = DDPGConfig(learning_starts=64).build((1, 1), (4,))
    one, other = (agent.explorer(2, np.random.default_rng(seed)) for seed in (0, 1))
    one.explore(99, None, lambda: greedy)
    other.load_state_dict(one.state_dict())
    chosen = [each.explore(100, None, lambda: greedy) for each in (one, other)]
    np.testing.assert_array_equal(*chosen)


def test_each_environment_explores_by_itself():
    agent = agent_for((9, 9), final=0.5, decay_steps=1, learning_starts=64, orders=(1,))
    explorer = agent.explorer(4, np.random.default_rng(0))
    greedy = np.full((4, 2), -1, np.int32)
    chosen = np.stack([explorer.explore(1000, None, lambda: greedy) for _ in range(1000)])
    share = (chosen >= 0).all(axis=2).mean(axis=0)
    np.testing.assert_allclose(share, 0.5, atol=0.06)
    masks = np.zeros((4, 18), bool)
    masks[np.arange(4), np.arange(4)] = masks[:, 9:] = True
    allowed = explorer.explore(0, as_mask(explorer.actions.hypergraph, masks), lambda: greedy)
    np.testing.assert_array_equal(allowed[:, 0], np.arange(4))


def epsilons(config, *steps):
    explorer = config.build((3, 2), (4,)).explorer(1, np.random.default_rng(0))
    return [explorer.metrics(step)["epsilon"] for step in steps]


def test_epsilon_falls_from_one_after_learning_starts():
    config = AGENTS["hgqn"]
    found = epsilons(config, 0, 10_000, 35_000, 60_000, 10**6)
    np.testing.assert_allclose(found, [1.0, 1.0, 0.525, 0.05, 0.05])
    schedule = Linear.parse("linear:0.5:0.1:100")
    found = epsilons(with_changes(config, {"exploration.epsilon": schedule}), 0, 10_050, 10**6)
    np.testing.assert_allclose(found, [0.5, 0.3, 0.1])


def test_another_exploration_takes_over_epsilon_and_its_settings_are_its_own():
    changes = {"exploration": "extended", "per_vertex": True}
    found = config_for("hgqn", "atari", changes=changes).exploration
    assert found == Extended(final=0.01, decay_steps=250_000, per_vertex=True)
    config = config_for("hgqn", "modern", changes={"exploration": "boltzmann", "temperature": 0.5})
    assert config.exploration == Boltzmann(0.5)
    assert isinstance(config.objective, TD)
    with pytest.raises(SettingError, match="unknown setting 'final'"):
        config_for("hgqn", "modern", changes={"exploration": "boltzmann", "final": 0.5})
    assert config_for("hgqn", "physical", changes={"exponent": 3}).exploration == Extended(
        exponent=3
    )
