"""Atari games under Dopamine's protocol, against slow references of the emulator's own screens."""

from functools import cache

import gymnasium
import jax
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hyperaction
from hyperaction.agents.parts import to_dict
from hyperaction.agents.presets import config_for
from hyperaction.cli import main
from hyperaction.envs import atari
from hyperaction.envs.atari import JOYSTICK, current_id, episode_start
from hyperaction.envs.make import make, make_env, make_vector
from hyperaction.envs.vector import Single
from hyperaction.networks import NatureCNN
from hyperaction.runs.directory import flat_settings
from hyperaction.training import memory
from hyperaction.training.config import parse_train
from hyperaction.training.trainer import Trainer
from tests.killing import KilledError, Killer, metrics, train_in

ale_py = pytest.importorskip("ale_py")

pytestmark = pytest.mark.usefixtures("shared_programs")

SMALL = [
    "--total-width", "14", "--padding", "valid", "--batch-size", "4", "--learning-starts", "60",
    "--buffer-size", "400", "--train-frequency", "20", "--interval", "100", "--loggers",
]  # fmt: skip


@cache
def overlap(old, new):
    """How much of each old pixel lies in each new one, of a row or column."""
    edges_old, edges_new = np.arange(old + 1) / old, np.arange(new + 1) / new
    low = np.maximum(edges_new[:-1, None], edges_old[None, :-1])
    high = np.minimum(edges_new[1:, None], edges_old[None, 1:])
    return np.clip(high - low, 0, None) * new


class SlowGame:
    """The emulator's own screens, worked on by the letter of the protocol."""

    def __init__(self, rom, seed):
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.25)
        self.ale.setInt("max_num_frames_per_episode", 108_000)
        _, ale_seed = np.random.SeedSequence(seed).generate_state(n_words=2)
        self.ale.setInt("random_seed", np.int32(ale_seed))
        self.ale.loadROM(ale_py.roms.get_rom_path(rom))
        self.reset()

    def reset(self):
        self.ale.reset_game()
        self.frames = [np.zeros((84, 84))] * 3 + [self.resized(self.ale.getScreenGrayscale())]

    def resized(self, screen):
        rows, columns = overlap(210, 84), overlap(160, 84)
        return rows @ screen.astype(float) @ columns.T

    def step(self, vertical, horizontal, fire):
        word = ["", "UP", "DOWN"][vertical] + ["", "LEFT", "RIGHT"][horizontal] + ["", "FIRE"][fire]
        action, reward, screens = ale_py.Action[word or "NOOP"], 0.0, []
        for _ in range(4):
            reward += self.ale.act(action)
            screens.append(self.ale.getScreenGrayscale())
            if self.ale.game_over():
                break
        self.frames.append(self.resized(np.maximum(screens[-1], screens[-2:][0])))
        return reward, self.ale.game_over(with_truncation=False)

    @property
    def stack(self):
        return np.stack(self.frames[-4:])


@pytest.mark.parametrize(("game", "rom"), [("BankHeist", "bank_heist"), ("Breakout", "breakout")])
def test_steps_equal_a_slow_reference_frame_by_frame(game, rom):
    slow, fast = SlowGame(rom, 3), Single(make(f"ALE/{game}-v5"))
    fast.reset(3)
    random, rewards, ends, worst = np.random.default_rng(0), 0.0, 0, 0.0
    for _ in range(700):
        worst = max(worst, np.abs(fast.observation[0].astype(float) - slow.stack).max())
        action = random.integers(JOYSTICK.sizes)
        result = fast.step(action[None])
        reward, over = slow.step(*action)
        assert result.reward[0] == reward
        assert result.terminated[0] == over  # Breakout has five lives: losing one is no end.
        rewards += abs(reward)
        if over:
            ends += 1
            slow.reset()
    assert 0.4 < worst <= 0.5001  # Every pixel is the exact mean of its area, rounded.
    assert ends
    assert rewards


def test_a_joystick_is_the_product_of_its_directions_and_its_button():
    actions = {JOYSTICK(np.array([v, h, f])) for v in range(3) for h in range(3) for f in range(2)}
    assert actions == set(range(18))
    env = make("ALE/Pong-v5")  # It has six actions of its own.
    assert env.sizes == (3, 3, 2)
    assert env.env.action_space == gymnasium.spaces.Discrete(18)


def test_episodes_end_after_so_many_steps_without_terminating():
    ends = [Single(make("ALE/Pong-v5", max_episode_steps=30))]
    ends.append(make_vector("ALE/Pong-v5", 2, lambda guard: make("ALE/Pong-v5"), None, 30))
    for envs in ends:
        envs.reset(0)
        for step in range(1, 61):
            result = envs.step(np.zeros((envs.num_envs, 3), np.int32))
            assert not result.terminated.any()
            assert (result.truncated == (step % 30 == 0)).all(), step


def two_games():
    name = "ALE/Breakout-v5"
    games = make_vector(name, 2, lambda guard: make(name))
    games.reset(5)
    return games


def test_parallel_games_see_what_one_game_sees():
    games, again = two_games(), two_games()
    assert games.frames == 4
    one = Single(make("ALE/Breakout-v5"))
    one.reset(0)
    np.testing.assert_array_equal(games.observation[0], one.observation[0])
    random, different = np.random.default_rng(0), False
    for _ in range(300):
        actions = random.integers(JOYSTICK.sizes, size=(2, 3)).astype(np.int32)
        result, same = games.step(actions), again.step(actions)
        np.testing.assert_array_equal(result.observation, same.observation)
        np.testing.assert_array_equal(result.reward, same.reward)
        different |= not np.array_equal(result.observation[0], result.observation[1])
    assert different


def test_parallel_games_play_as_one_game_does(monkeypatch):
    monkeypatch.setattr(atari, "STICKY", 0.0)  # Chance is not the same, so there is none.
    games = two_games()
    alone = [Single(make("ALE/Breakout-v5")) for _ in range(2)]
    for one in alone:
        one.reset(0)
    random, ends = np.random.default_rng(0), 0
    for _ in range(400):
        actions = random.integers(JOYSTICK.sizes, size=(2, 3)).astype(np.int32)
        result = games.step(actions)
        assert result.is_transition.all()
        for index, one in enumerate(alone):
            same = one.step(actions[index : index + 1])
            for name in ("observation", "reward", "terminated", "truncated"):
                np.testing.assert_array_equal(getattr(result, name)[index], getattr(same, name)[0])
            np.testing.assert_array_equal(games.observation[index], one.observation[0])
        ends += int(result.terminated.sum())
    assert ends > 1


def test_an_episode_can_begin_again():
    env = Single(make("ALE/BankHeist-v5"))
    env.reset(0)
    random = np.random.default_rng(0)
    while not env.step(random.integers(JOYSTICK.sizes)[None]).terminated[0]:
        pass
    start, actions = env.episode_start, random.integers(JOYSTICK.sizes, size=(60, 1, 3))
    first, seen = env.observation, [env.step(action).observation for action in actions]
    other = Single(make("ALE/BankHeist-v5"))
    other.reset(1)
    other.restore_episode(start)
    np.testing.assert_array_equal(other.observation, first)
    for action, observation in zip(actions, seen, strict=True):
        np.testing.assert_array_equal(other.step(action).observation, observation)


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
        "exploration.epsilon": None,
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
    assert parse_train(["CartPole-v1"]).preset == "physical"
    assert parse_train(["CartPole-v1", "--out", "ALE/Pong"]).preset == "physical"


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
        (["ALE/Pong-v5", "--action-shape", "18"], "--orders 1 2 3: "),
        (["ALE/Pong-v5", "--buffer-size", "9000000000"], "-size 9000000000: replay takes up to"),
    ],
)
def test_mistakes_are_refused_in_one_line(args, message, tmp_path, capsys):
    assert main(["train", *args, "--out", str(tmp_path / "run")]) != 0
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_games_are_known_by_their_names_elsewhere():
    for name in ("BankHeistNoFrameskip-v4", "BankHeist-v0", "ALE/BankHeist-v4"):
        assert current_id(name) == "ALE/BankHeist-v5"
    assert current_id("CartPole-v1") is None


def test_games_are_known_to_end():
    assert Single(make("ALE/Pong-v5")).has_limit
    assert Single(make("ale_py:ALE/Pong-v5")).has_limit


@pytest.mark.parametrize("agent", ["dqn", "hgqn", "rainbow", "hg-rainbow"])
def test_every_agent_of_the_paper_learns_some_steps(agent, tmp_path, capsys):
    out = tmp_path / "run"
    args = [
        "train", "ALE/BankHeist-v5", "--agent", agent, *SMALL, "--steps", "300", "--phase-steps",
        "200", "--max-episode-steps", "150", "--out", str(out),
    ]  # fmt: skip
    if agent == "hgqn":
        args += ["--mixer", "universal", "--rank", "2"]
    if agent == "dqn":
        args += ["--num-envs", "2"]
    assert main(args) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "replay takes up to" in printed.out
    rows = metrics(out)
    assert rows
    assert {row["kind"] for row in rows} == {"train"}
    assert all(np.isfinite(row["loss"]) for row in rows)
    if agent == "hgqn":
        assert main(["evaluate", str(out), "--episodes", "1"]) == 0
        assert "mean" in capsys.readouterr().out


def test_learning_rewards_are_clipped_and_reported_ones_are_not():
    env = make("ALE/BankHeist-v5", max_episode_steps=400)
    config = parse_train(["ALE/BankHeist-v5", *SMALL[:6], "--learning-starts", "10000"]).config
    trainer = Trainer(config.build(env.sizes, env.observation_shape), Single(env), 0)
    ended = []
    while not any(episode.total for episode in ended):
        ended += trainer.advance()
    rewards = trainer.replay.ring.numbers.arrays.reward
    assert set(np.unique(rewards)) <= {-1.0, 0.0, 1.0}
    assert max(episode.total for episode in ended) >= 10
    assert rewards.sum() < sum(episode.total for episode in ended)


@pytest.mark.parametrize(("num_envs", "times"), [("1", 4), ("2", 2)])
def test_a_game_that_is_killed_is_the_game_that_never_stopped(
    num_envs, times, tmp_path, monkeypatch
):
    config = parse_train([
        "ALE/BankHeist-v5", "--agent", "hg-rainbow", *SMALL, "--steps", "270", "--phase-steps",
        "180", "--checkpoint-steps", "70", "--max-episode-steps", "90", "--num-envs", num_envs,
    ])  # fmt: skip
    killer = Killer(monkeypatch)
    train_in(tmp_path / "whole", config)
    whole = metrics(tmp_path / "whole")
    assert len(whole) == 2
    moments = np.random.default_rng(0).choice(len(killer.seen), times, replace=False)
    for number, moment in enumerate(moments):
        killer.left = int(moment)
        with pytest.raises(KilledError):
            train_in(tmp_path / str(number), config)
        killer.left = None
        train_in(tmp_path / str(number), config)
        assert metrics(tmp_path / str(number)) == whole, killer.seen[moment]


def test_a_replay_that_does_not_fit_is_refused_with_one_that_does(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(memory, "available", lambda: 4_000_000_000)
    code = main(["train", "ALE/Pong-v5", "--out", str(tmp_path / "run")])
    assert code == 1
    printed = capsys.readouterr().err
    assert "replay takes up to 7.1 GB of memory" in printed
    assert "only 4.0 GB is free; --buffer-size 350000 would fit" in printed
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="buffer_size 350000 would fit"):
        hyperaction.HGQN("ALE/Pong-v5")


def test_other_environments_have_no_episode_start():
    env = gymnasium.make("CartPole-v1")
    assert episode_start(env, np.zeros(4, np.uint8)) is None
    assert atari.make_vector("ALE/Pong-v5", 2).num_envs == 2


def test_memory_that_files_take_in_a_container_is_free(monkeypatch, tmp_path):
    for name, text in {
        "memory.max": "16000000000",
        "memory.current": "15500000000",
        "memory.stat": "anon 1000000000\ninactive_file 9000000000\nactive_file 5000000000",
    }.items():
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory._left_in_container() == 14_500_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._left_in_container() is None


def test_no_more_runs_are_started_than_memory_holds(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 24_000_000_000)
    assert memory.runs_that_fit(7_140_000_000) == 2
    assert memory.runs_that_fit(24_000_000) is None
