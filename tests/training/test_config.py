"""The configuration of a run, from its arguments."""

import re
from dataclasses import fields
from typing import get_type_hints

import jax
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hyperaction
from hyperaction.agents.parts import to_dict
from hyperaction.agents.presets import config_for
from hyperaction.agents.schedules import Linear
from hyperaction.cli import main
from hyperaction.envs.make import make_env
from hyperaction.errors import SettingError
from hyperaction.networks import NatureCNN
from hyperaction.runs.directory import flat_settings
from hyperaction.training.config import parse_train


def test_the_presets_are_dopamines():
    """The whole settings of every agent, as a table of Dopamine's."""
    common = {
        "discount": 0.99, "batch_size": 32, "train_frequency": 4, "target": "copy",
        "target.interval": 8_000, "buffer_size": 1_000_000, "learning_starts": 20_000,
        "reward_clip": 1.0, "edges": [], "mixer": "sum", "objective": "td", "network": "cnn",
        "network.padding": "same", "heads.total_width": 512, "heads.width_multiple": 1,
        "objective.loss": "huber", "optimiser.gradient_clip": 0.0,
        "exploration": "epsilon-greedy", "exploration.final": 0.01,
        "exploration.decay_steps": 250_000, "exploration.evaluation": 0.001,
        "exploration.epsilon": None, "overlap": False,
    }  # fmt: skip
    plain = {
        "n_step": 1, "prioritised": False, "heads.dueling": False, "objective.double": False,
        "optimiser": "rmsprop", "optimiser.learning_rate": 0.00025, "optimiser.epsilon": 0.00001,
    }  # fmt: skip
    rainbow = {
        "n_step": 3, "prioritised": True, "heads.dueling": True, "objective.double": True,
        "optimiser": "adam", "optimiser.learning_rate": 0.0000625, "optimiser.epsilon": 0.00015,
    }  # fmt: skip
    for name, own, orders in (
        ("dqn", plain, [-1]),
        ("hgqn", plain, [1, 2, 3]),
        ("rainbow", rainbow, [-1]),
        ("hg-rainbow", rainbow, [1, 2, 3]),
    ):
        settings = flat_settings(to_dict(config_for(name, "atari")))
        assert settings == {**common, **own, "orders": orders}
    assert config_for("hgqn", "atari").hypergraph((3, 3, 2)).num_edges == 7
    emulator = make_env("ALE/Pong-v5").unwrapped.ale
    assert emulator.getInt("max_num_frames_per_episode") == 27_000 * 4
    assert emulator.getFloat("repeat_action_probability") == 0.25
    agent = hyperaction.HGQN("ALE/Pong-v5", buffer_size=100)
    blocks = agent.state.online.blocks
    assert blocks.hidden.weight.shape == (7 * 74, 7744)
    assert isinstance(agent.state.online.state_network, NatureCNN)
    assert agent.config.reward_clip == 1.0
    key = jax.random.key(0)
    single = jax.eval_shape(
        config_for("dqn", "atari").build((3, 3, 2), (4, 84, 84)).init, key
    ).online.blocks
    assert single.hidden.weight.shape == (512, 7744)


def test_a_game_is_played_by_the_atari_preset_unless_another_is_named():
    assert parse_train(["ALE/Pong-v5"]).preset == "atari"
    assert parse_train(["ALE/Pong-v5"]).phase_steps == 250_000
    modern = parse_train(["ALE/Pong-v5", "--preset", "modern"]).config
    assert to_dict(modern)["network"]["name"] == "mlp"
    assert parse_train(["ale_py:ALE/Pong-v5"]).preset == "atari"
    assert parse_train(["--fresh", "ALE/Pong-v5"]).preset == "atari"
    assert parse_train(["CartPole-v1"]).preset == "small"
    assert parse_train(["CartPole-v1", "--out", "ALE/Pong"]).preset == "small"
    for robot in ("HalfCheetahBulletEnv-v0", "Humanoid-v5"):
        assert parse_train([robot]).preset == "modern"
        assert parse_train([robot, "--agent", "ddpg"]).preset == "physical"


GROUPS = [
    ["ALE/Pong-v5"], ["--orders", "1", "2"], ["--seed", "3"], ["--fresh"],
    ["--agent", "hg-rainbow"], ["--optimiser", "rmsprop"], ["--learning-rate", "0.1"],
    ["--no-prioritised"], ["--objective.loss=mse"], ["--loggers"],
]  # fmt: skip


@given(st.permutations(GROUPS))
def test_arguments_mean_the_same_in_any_order(groups):
    # What takes any number of values must not be followed by the environment.
    env = groups.index(["ALE/Pong-v5"])
    assume(env == 0 or groups[env - 1][0] not in ("--orders", "--loggers"))
    args = [arg for group in groups for arg in group]
    config = parse_train(args)
    assert config == parse_train([arg for group in GROUPS for arg in group])
    assert config.preset == "atari"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["ALE/Pong-v5", "--agent", "ddpg"], "ddpg acts with real numbers, which Atari games do"),
        (["ALE/Pung-v5"], "unknown environment 'ALE/Pung-v5'; did you mean 'ALE/Pong-v5'?"),
        (["Pong-v5"], "unknown environment 'Pong-v5'; did you mean 'ALE/Pong-v5'?"),
        (["ALE/Pong-v5", "--num-envs", "0"], "--num-envs must be at least 1, not 0"),
        (["ALE/Pong-v5", "--rank", "4"], "--rank 4, --orders 1 2 3 4: order 4 on 3 vertices; "),
        (["ALE/Pong-v5", "--action-shape", "18", "--orders", "1", "2", "3"], "--orders 1 2 3: "),
        (["ALE/Pong-v5", "--buffer-size", "9000000000"], "-size 9000000000: replay takes up to"),
    ],
)
def test_mistakes_are_refused_in_one_line(args, message, tmp_path, capsys):
    assert main(["train", *args, "--out", str(tmp_path / "run")]) != 0
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "run").exists()


def real_settings():
    """Every setting that is a real number, of every part of an agent: what chooses the part."""
    for agent in ("hgqn", "ddpg"):
        config = config_for(agent, "physical")
        parts = [("", {}, type(config))]
        for each in fields(config):
            registry = each.metadata.get("registry", {})
            parts += [(f"{each.name}.", {each.name: name}, registry[name]) for name in registry]
        for prefix, choice, kind in parts:
            for name, hint in get_type_hints(kind).items():
                if name in {each.name for each in fields(kind) if each.init} and "float" in str(
                    hint
                ):
                    yield agent, choice, f"{prefix}{name}"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "linear:1:0:inf", "linear:nan:0:9"])
def test_no_setting_that_is_not_finite_is_accepted(value):
    names = set()
    for agent, choice, name in real_settings():
        names.add(name)
        options = [f"--{part}={chosen}" for part, chosen in choice.items()]
        flag = f"--{name.replace('_', '-')}"
        with pytest.raises(ValueError, match=re.escape(flag)):
            parse_train(["CartPole-v1", "--agent", agent, *options, f"{flag}={value}"])
        if ":" not in value:
            with pytest.raises(SettingError, match=re.escape(name)):
                config_for(agent, "physical", changes=choice | {name: float(value)})
    assert {"discount", "optimiser.learning_rate", "exploration.scale", "target.rate"} <= names
    for steps in (float("inf"), float("nan")):
        with pytest.raises(SettingError, match="finite"):
            Linear(1.0, 0.0, steps)
