"""Search spaces: data beside the presets, of values that agents take."""

from typing import get_args

import pytest

from hyperaction.agents.presets import AgentName, PresetName
from hyperaction.agents.search_spaces import Choice, Range
from hyperaction.errors import SettingError
from hyperaction.training.config import parse_train
from hyperaction.tuning.space import search_space

ENVS = {"atari": "ALE/Breakout-v5"}


def space(*args, sizes=(3, 3, 3), **options):
    flags = [arg for arg in args if arg.startswith("--")]
    return search_space(parse_train(["Env-v0", *args]), flags, sizes, **options)


@pytest.mark.parametrize("preset", get_args(PresetName))
def test_the_ends_of_every_search_space_are_values_that_the_agent_takes(preset):
    env = ENVS.get(preset, "Env-v0")
    for agent in ("hgqn", "ddpg") if preset == "physical" else ("hgqn",):
        args = [env, "--agent", agent, "--preset", preset]
        found = search_space(parse_train(args), ["--agent", "--preset"], (3, 3, 3))
        assert found.ranges.keys() >= {"batch_size", "n_step", "discount"}
        assert len(found.ranges) >= 7
        assert found.args(found.baseline) == ()
        for name, each in found.ranges.items():
            ends = each.values if isinstance(each, Choice) else each[:2]
            for value in ends:
                options = found.args({**found.baseline, name: value})
                assert bool(options) == (value != found.baseline[name])
                parse_train([*args, *options])


def test_agents_without_a_rank_are_searched_without_one():
    assert "rank" in space().ranges
    for agent in set(get_args(AgentName)) - {"hgqn", "hg-rainbow", "bdqn", "ddpg"}:
        assert "rank" not in space("--agent", agent).ranges


def test_a_rank_is_at_most_the_number_of_vertices_and_not_too_large():
    assert space(sizes=(3, 3)).ranges["rank"] == Range(1, 2)
    assert "rank" not in space(sizes=(3,)).ranges
    assert space(sizes=(9,) * 20).ranges["rank"] == Range(1, 2)


def test_what_is_given_is_not_searched():
    found = space("--learning-rate", "0.01", "--exploration.final", "0.3", "--edges", "0", "1")
    searched = found.ranges.keys()
    assert not searched & {"optimiser.learning_rate", "exploration.final", "rank"}
    assert "batch_size" in searched


def test_only_what_is_asked_for_is_searched():
    assert list(space(only=["learning-rate", "n_step"]).ranges) == [
        "optimiser.learning_rate",
        "n_step",
    ]
    with pytest.raises(SettingError, match="unknown setting 'n_stepp'; did you mean 'n_step'"):
        space(only=["n_stepp"])


def test_a_space_of_ones_own_replaces_the_presets(tmp_path):
    file = tmp_path / "space.toml"
    file.write_text(
        "learning-rate = {low = 1e-5, high = 1e-4, log = true}\nhidden = [[32], [8, 8]]"
    )
    found = space(file=str(file))
    assert found.ranges["optimiser.learning_rate"] == Range(1e-5, 5e-4, True)  # With the preset's.
    assert found.ranges["network.hidden"] == Choice(("32", "8 8", "128 128"))
    params = {"optimiser.learning_rate": 2.34567e-5, "network.hidden": "8 8"}
    options = found.args(params)
    assert options == ("--optimiser.learning-rate", "2.35e-05", "--network.hidden", "8", "8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch_sice = [1]", "did you mean 'batch_size'"),
        ("batch_size = {low = 3, high = 1}", "must be a list of values, or a table"),
        ("batch_size = 'x'", "must be a list of values, or a table"),
        ("batch_size = ", "is not TOML"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused_in_one_line(tmp_path, text, message):
    file = tmp_path / "space.toml"
    file.write_text(text)
    with pytest.raises(SettingError, match=message):
        space(file=str(file))


def test_a_schedule_of_the_preset_is_one_of_the_values_that_are_searched(tmp_path):
    args = ["--preset", "modern"]
    rate = space(*args).ranges["optimiser.learning_rate"]
    assert isinstance(rate, Choice)
    assert rate.values[-1] == space(*args).baseline["optimiser.learning_rate"]
    assert rate.values[-1] == "linear:0.001:0.0001:300000"
    file = tmp_path / "space.toml"
    file.write_text("learning-rate = {low = 1e-5, high = 1e-3, log = true}\n")
    with pytest.raises(SettingError, match="no range from low to high holds: give a list"):
        space(*args, file=str(file))
