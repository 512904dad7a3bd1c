"""Configurations made of parts: stored and restored, changed by name, and what is refused."""

import json
from dataclasses import dataclass, replace

import optax
import pytest

from hyperaction.agents.config import DDPGConfig, QLearningConfig
from hyperaction.agents.exploration import EpsilonGreedy
from hyperaction.agents.objectives import Branching, Quantile, Soft
from hyperaction.agents.optimisers import Adam, RMSProp
from hyperaction.agents.parts import to_dict, with_changes
from hyperaction.agents.presets import (
    AGENTS,
    DESCENDANTS,
    LINEAR_HEADS,
    PRESETS,
    config_for,
    restored,
)
from hyperaction.agents.schedules import Linear
from hyperaction.agents.state_networks import MLPNetwork
from hyperaction.agents.targets import Copy, Polyak
from hyperaction.errors import SettingError


def stored(config):
    """A configuration as it comes back from a file."""
    return json.loads(json.dumps(to_dict(config)))


CONFIGS = [
    (agent, preset)
    for agent, config in AGENTS.items()
    for preset in PRESETS
    if preset == "physical" or not config.continuous
    if preset not in DESCENDANTS or agent in LINEAR_HEADS
]


@pytest.mark.parametrize(("agent", "preset"), CONFIGS)
def test_every_agent_with_every_preset_comes_back_from_json(agent, preset):
    config = config_for(agent, preset)
    assert restored(agent, stored(config)) == config
    assert hash(restored(agent, stored(config))) == hash(config)


@pytest.mark.parametrize(
    ("agent", "changes"),
    [
        ("hgqn", {"optimiser.learning_rate": Linear(0.001, 0.0, 300_000)}),
        ("hgqn", {"exploration.epsilon": Linear(1.0, 0.05, 50_000)}),
        ("hgqn", {"objective": "branching", "towards": "max", "edges": ("0", "1,2")}),
        ("hgqn", {"heads.dueling": True, "target": Polyak(0.1), "hidden": [8, 8, 8]}),
        ("ddpg", {"exploration": "gaussian", "scale": 0.3, "hidden": (9, 8, 7)}),
    ],
    ids=str,
)
def test_schedules_and_chosen_parts_come_back_from_json(agent, changes):
    config = with_changes(AGENTS[agent], changes)
    assert restored(agent, stored(config)) == config


def test_changes_are_made_by_whole_names_short_names_names_of_parts_and_objects():
    config = QLearningConfig()
    assert with_changes(config, {"optimiser.learning_rate": 0.5}).optimiser == Adam(0.5)
    assert with_changes(config, {"learning_rate": 0.5}).optimiser == Adam(0.5)
    assert with_changes(config, {"optimiser": "rmsprop"}).optimiser == RMSProp()
    assert with_changes(config, {"optimiser": RMSProp(0.5)}).optimiser == RMSProp(0.5)
    both = with_changes(config, {"learning_rate": 0.5, "optimiser": "rmsprop"})
    assert both.optimiser == RMSProp(0.5)
    assert with_changes(config, {"batch_size": 7}) == replace(config, batch_size=7)
    assert with_changes(config, {"hidden": [3, 4]}).network == MLPNetwork((3, 4))
    assert config == QLearningConfig()


def test_a_setting_that_only_another_part_has_chooses_it():
    config = with_changes(QLearningConfig(), {"quantiles": 7, "target.rate": 0.5})
    assert config.objective == Quantile(7)
    assert config.target == Polyak(0.5)
    double = with_changes(QLearningConfig(), {"double": True, "loss": "huber"})
    assert with_changes(double, {"quantiles": 7}).objective == Quantile(7, double=True)
    assert with_changes(double, {"objective": "soft"}).objective == Soft(loss="huber")


def test_choosing_the_part_that_is_there_keeps_its_settings():
    config = with_changes(QLearningConfig(), {"target.interval": 7})
    assert with_changes(config, {"target": "copy"}).target == Copy(7)
    assert with_changes(config, {"target": "polyak"}).target == Polyak()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rat": 1}, "unknown setting 'learning_rat'; did you mean 'learning_rate'?"),
        ({"optimiser.learning_rat": 1}, "did you mean 'optimiser.learning_rate'?"),
        ({"batchsize": 1}, "unknown setting 'batchsize'; did you mean 'batch_size'?"),
        ({"objective": "dueling"}, "objective: unknown objective 'dueling'; choose from td, br"),
        ({"target": "copy", "rate": 0.1}, "unknown setting 'rate'"),  # It is polyak's.
        ({"target": "copy", "target.rate": 0.1}, "unknown setting 'target.rate'"),
        ({"epsilon": 0.1}, "epsilon is ambiguous; choose exploration.epsilon or optimiser.epsilon"),
    ],
    ids=str,
)
def test_unknown_and_ambiguous_settings_are_refused(changes, message):
    with pytest.raises(SettingError) as error:
        with_changes(QLearningConfig(), changes)
    assert message in str(error.value)


def test_messages_name_settings_in_python_and_options_at_the_command_line():
    with pytest.raises(SettingError) as error:
        with_changes(QLearningConfig(), {"learning_rate": 0.0})
    assert str(error.value) == "optimiser.learning_rate must be above 0, not 0.0"
    options = "--optimiser.learning-rate must be above 0, not 0.0"
    assert error.value.for_command_line == options


@dataclass(frozen=True)
class Own:
    """A part of the user's own."""

    final: float = 0.5


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("exploration", Own()),
        ("objective", Own()),
        ("optimiser", optax.adamw(1e-4)),
        ("network", lambda shape, *, key: None),
        ("mixer", lambda num_edges, features, key: None),
        ("target", Own()),
    ],
)
def test_objects_of_the_users_own_are_not_stored_and_must_be_given_again(name, given):
    config = with_changes(QLearningConfig(), {name: given})
    data = stored(config)
    assert data[name]["name"] == "custom"
    with pytest.raises(SettingError, match=f"{name} was an object of your own .*pass {name} again"):
        restored("hgqn", data)
    assert getattr(restored("hgqn", data, {name: given}), name) is given
    assert restored("hgqn", data, {name: given}) == config


def test_settings_of_an_object_of_the_users_own_can_be_changed_if_it_is_a_dataclass():
    config = with_changes(QLearningConfig(), {"exploration": Own(), "exploration.final": 0.25})
    assert config.exploration == Own(0.25)
    with pytest.raises(SettingError, match="unknown setting 'learning_rate'"):
        with_changes(QLearningConfig(), {"optimiser": optax.sgd(0.1), "learning_rate": 0.2})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"optimiser": {"name": "sgd"}}, "optimiser: unknown optimiser 'sgd'; choose from adam"),
        ({"optimiser": {"name": "adam", "learning_rate": -1.0}}, "learning_rate must be above 0"),
        ({"batch_size": "many"}, "batch_size must be an integer, not 'many'"),
        ({"exploration": {"name": "epsilon-greedy", "epsilon": "down"}}, "is not a schedule"),
    ],
    ids=str,
)
def test_stored_settings_are_checked_like_others(data, message):
    with pytest.raises(ValueError, match=message):
        restored("hgqn", data)
    with pytest.raises(SettingError, match="unknown agent 'sarsa'"):
        restored("sarsa", {})


def test_parts_compare_by_their_settings():
    assert EpsilonGreedy(0.1) == EpsilonGreedy(final=0.1) != EpsilonGreedy(0.2)
    assert Branching() != QLearningConfig().objective
    assert DDPGConfig().continuous
    assert not QLearningConfig().continuous


def test_schedules_print_as_they_are_written():
    schedule = Linear.parse("linear:0.001:0:3e5")
    assert schedule == Linear(0.001, 0.0, 300_000)
    assert Linear.parse(str(schedule)) == schedule
    assert [schedule(step) for step in (0, 150_000, 10**6)] == [0.001, 0.0005, 0.0]
    for wrong in ("linear", "linear:1:2", "cubic:1:0:9", "linear:a:0:9", "linear:nan:0:9"):
        with pytest.raises(ValueError, match=r"schedule"):
            Linear.parse(wrong)
    with pytest.raises(SettingError, match="at least 1 step"):
        Linear(1.0, 0.0, 0)
