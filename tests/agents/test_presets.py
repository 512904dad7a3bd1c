"""Presets and the settings of agents."""

import jax
import numpy as np
import pytest

from hyperaction import Hypergraph
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.objectives import TD
from hyperaction.agents.optimisers import Adam
from hyperaction.agents.parts import to_dict, with_changes
from hyperaction.agents.presets import AGENTS, config_for
from hyperaction.agents.state_networks import ResidualNetwork
from hyperaction.agents.targets import Polyak
from hyperaction.errors import SettingError
from hyperaction.runs.directory import flat_settings


def test_presets_are_data():
    assert AGENTS["rainbow"].objective.double
    assert AGENTS["dqn"].hypergraph((3, 2)) == Hypergraph((3, 2), [(0, 1)])
    modern = config_for("hgqn", "modern")
    assert isinstance(modern, QLearningConfig)
    assert isinstance(config_for("bdqn", "modern"), QLearningConfig)
    with pytest.raises(ValueError, match="preset modern is for Q-learning agents"):
        config_for("ddpg", "modern")
    before, now = (flat_settings(to_dict(config)) for config in (AGENTS["hgqn"], modern))
    assert {name for name in now if now[name] != before.get(name)} == {
        "mixer", "network.hidden", "network.layer_norm", "heads.total_width", "heads.critics",
        "n_step", "discount", "objective.loss", "objective.target_critics",
        "optimiser.learning_rate", "optimiser.epsilon", "optimiser.gradient_clip", "target",
        "target.rate", "batch_size", "buffer_size", "learning_starts", "exploration.decay_steps",
    }  # fmt: skip


def test_descendants_are_presets():
    decqn, revalued = config_for("hgqn", "decqn"), config_for("hgqn", "revalued")
    assert isinstance(decqn, QLearningConfig)
    assert isinstance(revalued, QLearningConfig)
    shared = (
        ("mixer", "mean"), ("n_step", 3), ("batch_size", 256), ("network", ResidualNetwork(512, 1)),
        ("orders", (1,)), ("optimiser", Adam(1e-4, 1e-8, 40.0)), ("objective", TD(loss="huber")),
    )  # fmt: skip
    for name, value in shared:
        assert getattr(decqn, name) == getattr(revalued, name) == value
    assert decqn.prioritised
    assert (decqn.priority_exponent, decqn.weight_exponent) == (0.6, 0.2)
    assert (decqn.heads.critics, revalued.heads.critics) == (2, 10)
    assert (decqn.train_frequency, revalued.train_frequency) == (8, 5)
    assert revalued.target == Polyak(0.005)
    assert (decqn.exploration.final, decqn.exploration.decay_steps) == (0.1, 1)
    with pytest.raises(ValueError, match="preset decqn has linear heads, which hgqn and dqn"):
        config_for("hg-rainbow", "decqn")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"discount": 1.5}, "`discount` must be from 0 to 1, not 1.5"),
        ({"batch_size": 0}, "`batch_size` must be at least 1, not 0"),
        ({"buffer_size": 3}, "`buffer_size` 3 must be at least `batch_size`, 64"),
        ({"learning_starts": 3}, "`learning_starts` 3 must be at least `batch_size`, 64"),
        ({"learning_rate": -1.0}, "`optimiser.learning_rate` must be above 0, not -1.0"),
        ({"target": "polyak", "rate": 2.0}, "`target.rate` must be above 0 and at most 1, not 2.0"),
        ({"interval": 0}, "`target.interval` must be at least 1, not 0"),
        ({"objective": "branching", "mixer": "universal"}, "`mixer` must stay sum or mean"),
        ({"network": "cnn", "layer_norm": True}, "unknown setting 'layer_norm'"),
        ({"objective.loss": "l1"}, "`objective.loss`: unknown name 'l1'; choose from mse, huber"),
        ({"hidden": 64}, "`network.hidden` must be a list of integers, not 64"),
        ({"hidden": (64, "a")}, "`network.hidden` must be a list of integers"),
        ({"hidden": (0,)}, "`network.hidden` must be at least 1, not 0"),
        ({"batch_size": 4.0}, "`batch_size` must be an integer, not 4.0"),
        ({"discount": "x"}, "`discount` must be a number, not 'x'"),
        ({"discount": float("nan")}, "`discount` must be finite, not nan"),
        ({"prioritised": 1}, "`prioritised` must be a boolean, not 1"),
        ({"learning_rate": "fast"}, "`optimiser.learning_rate` must be number or Linear, not 'f"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(SettingError) as error:
        with_changes(QLearningConfig(), changes)
    assert message in error.value.template
    assert str(error.value) == error.value.template.replace("`", "")


def test_hyperedges_can_be_given_by_hand():
    config = QLearningConfig(edges=("0", "1", "2", "0,2"))
    assert config.hypergraph((3, 3, 2)) == Hypergraph((3, 3, 2), [(0,), (1,), (2,), (0, 2)])
    with pytest.raises(ValueError, match="vertices joined by commas, such as 0,3"):
        QLearningConfig(edges=("0-1",)).hypergraph((3, 3))


@pytest.mark.parametrize(
    ("name", "changes", "critics"),
    [
        ("hgqn", {}, 2),
        ("hgqn", {"mixer": "monotonic-linear"}, 2),
        ("hgqn", {"quantiles": 5}, 2),
        ("hgqn", {"objective": "soft"}, 2),
        ("hgqn", {"critics": 3}, 3),
        ("hgqn", {"critics": 1}, 1),
        ("hgqn", {"mixer": "universal"}, 1),
        ("hgqn", {"objective": "logarithmic", "discount": 0.96}, 1),
        ("hgqn", {"orders": (1, 2), "structure": "grow-edges"}, 1),
        ("hg-rainbow", {}, 2),
        ("bdqn", {}, 1),
        ("action-in", {}, 1),
    ],
    ids=str,
)
def test_the_modern_preset_has_two_critics_where_there_can_be_several(name, changes, critics):
    agent = config_for(name, "modern", changes=changes).build((3, 2), (4,))
    observation, action = np.zeros(4, np.float32), np.zeros(2, np.int32)

    def values(key):
        return agent.init(key).online.values(observation, action)

    assert jax.eval_shape(values, jax.random.key(0)).shape == (critics,)
