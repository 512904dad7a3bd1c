"""Atari games under Dopamine's protocol, against slow references of the emulator's own screens."""

import dataclasses
import functools
import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import tyro

import hyperaction
from hyperaction import environments
from hyperaction.agents.presets import preset
from hyperaction.cli import main
from hyperaction.environments import Single, atari
from hyperaction.environments.atari import JOYSTICK, episode_start, make_games, same_game
from hyperaction.networks import NatureCNN
from hyperaction.options import defaults
from hyperaction.running.prepared import Prepared
from hyperaction.runs import Run
from hyperaction.training import learning, memory
from tests.killing import KilledError, Killer

ale_py = pytest.importorskip("ale_py")

SMALL = [
    "--total-width", "14", "--padding", "valid", "--minibatch", "4", "--replay-start", "60",
    "--replay-size", "400", "--update-period", "20", "--target-period", "100", "--no-tensorboard",
]  # fmt: skip


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
    slow, fast = SlowGame(rom, 3), Single(environments.make(f"ALE/{game}-v5"))
    fast.reset(3)
    random, rewards, ends, worst = np.random.default_rng(0), 0.0, 0, 0.0
    for _ in range(700):
        worst = max(worst, np.abs(fast.observation[0].astype(float) - slow.stack).max())
        action = random.integers(JOYSTICK.sizes)
        found = fast.step(action[None])
        reward, over = slow.step(*action)
        assert found.reward[0] == reward
        assert found.terminated[0] == over  # Breakout has five lives: losing one is no end.
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
    env = environments.make("ALE/Pong-v5")  # It has six actions of its own.
    assert env.sizes == (3, 3, 2)
    assert env.env.action_space == gymnasium.spaces.Discrete(18)


def test_episodes_end_after_so_many_steps_without_terminating():
    ends = [Single(environments.make("ALE/Pong-v5", max_episode_steps=30))]
    ends.append(
        environments.make_several(
            "ALE/Pong-v5", 2, lambda guard: environments.make("ALE/Pong-v5"), None, 30
        )
    )
    for envs in ends:
        envs.reset(0)
        for step in range(1, 61):
            found = envs.step(np.zeros((envs.count, 3), np.int32))
            assert not found.terminated.any()
            assert (found.truncated == (step % 30 == 0)).all(), step


def two_games():
    name = "ALE/Breakout-v5"
    games = environments.make_several(name, 2, lambda guard: environments.make(name))
    games.reset(5)
    return games


def test_games_side_by_side_see_what_one_game_sees():
    games, again = two_games(), two_games()
    assert games.frames == 4
    one = Single(environments.make("ALE/Breakout-v5"))
    one.reset(0)
    np.testing.assert_array_equal(games.observation[0], one.observation[0])
    random, different = np.random.default_rng(0), False
    for _ in range(300):
        actions = random.integers(JOYSTICK.sizes, size=(2, 3)).astype(np.int32)
        found, same = games.step(actions), again.step(actions)
        np.testing.assert_array_equal(found.observation, same.observation)
        np.testing.assert_array_equal(found.reward, same.reward)
        different |= not np.array_equal(found.observation[0], found.observation[1])
    assert different


def test_games_side_by_side_play_as_one_game_does(monkeypatch):
    monkeypatch.setattr(atari, "STICKY", 0.0)  # Chance is not the same, so there is none.
    games = two_games()
    alone = [Single(environments.make("ALE/Breakout-v5")) for _ in range(2)]
    for one in alone:
        one.reset(0)
    random, ends = np.random.default_rng(0), 0
    for _ in range(400):
        actions = random.integers(JOYSTICK.sizes, size=(2, 3)).astype(np.int32)
        found = games.step(actions)
        assert found.real.all()
        for place, one in enumerate(alone):
            same = one.step(actions[place : place + 1])
            for name in ("observation", "reward", "terminated", "truncated"):
                np.testing.assert_array_equal(getattr(found, name)[place], getattr(same, name)[0])
            np.testing.assert_array_equal(games.observation[place], one.observation[0])
        ends += int(found.terminated.sum())
    assert ends > 1


def test_an_episode_can_begin_again():
    env = Single(environments.make("ALE/BankHeist-v5"))
    env.reset(0)
    random = np.random.default_rng(0)
    while not env.step(random.integers(JOYSTICK.sizes)[None]).terminated[0]:
        pass
    start, actions = env.episode_start, random.integers(JOYSTICK.sizes, size=(60, 1, 3))
    first, seen = env.observation, [env.step(action).observation for action in actions]
    other = Single(environments.make("ALE/BankHeist-v5"))
    other.reset(1)
    other.back_to(start)
    np.testing.assert_array_equal(other.observation, first)
    for action, observation in zip(actions, seen, strict=True):
        np.testing.assert_array_equal(other.step(action).observation, observation)


def test_the_presets_are_dopamines():
    """The whole settings of every agent, as a table of Dopamine's."""
    common = {
        "discount": 0.99, "minibatch": 32, "update_period": 4, "target_period": 8_000,
        "polyak": 0.0, "replay_size": 1_000_000, "replay_start": 20_000, "reward_clip": 1.0,
        "edges": (), "mixer": "sum", "branching": "none", "network": "cnn", "padding": "same",
        "total_width": 512, "width_multiple": 1, "loss": "huber", "gradient_clip": 0.0,
        "epsilon": 0.01, "epsilon_steps": 250_000,
    }  # fmt: skip
    plain = {
        "n_step": 1, "prioritised": False, "dueling": False, "double": False,
        "optimiser": "rmsprop", "learning_rate": 0.00025, "optimiser_epsilon": 0.00001,
    }  # fmt: skip
    rainbow = {
        "n_step": 3, "prioritised": True, "dueling": True, "double": True,
        "optimiser": "adam", "learning_rate": 0.0000625, "optimiser_epsilon": 0.00015,
    }  # fmt: skip
    for name, own, orders in (
        ("dqn", plain, (-1,)),
        ("hgqn", plain, (1, 2, 3)),
        ("rainbow", rainbow, (-1,)),
        ("hg-rainbow", rainbow, (1, 2, 3)),
    ):
        found = dataclasses.asdict(preset(name, "atari"))
        unused = {"hidden", "layer_norm"}  # Those of the fully connected state network.
        assert {key: found[key] for key in found if key not in unused} == {
            **common, **own, "orders": orders
        }  # fmt: skip
    assert preset("hgqn", "atari").hypergraph((3, 3, 2)).num_edges == 7
    emulator = environments.make_env("ALE/Pong-v5").unwrapped.ale
    assert emulator.getInt("max_num_frames_per_episode") == 27_000 * 4
    assert emulator.getFloat("repeat_action_probability") == 0.25
    agent = hyperaction.HGQN("ALE/Pong-v5", replay_size=100)
    blocks = agent.state.online.blocks
    assert blocks.hidden.weight.shape == (7 * 74, 7744)
    assert isinstance(agent.state.online.state_network, NatureCNN)
    assert agent.settings.reward_clip == 1.0
    single = hyperaction.DQN("ALE/Pong-v5", replay_size=100).state.online.blocks
    assert single.hidden.weight.shape == (512, 7744)


def options_of(*args):
    options_type, default = defaults(list(args))
    return tyro.cli(options_type, args=list(args), default=default)


def test_a_game_is_played_by_the_atari_preset_unless_another_is_named():
    assert options_of("ALE/Pong-v5").preset == "atari"
    assert options_of("ALE/Pong-v5").phase_steps == 250_000
    assert options_of("ALE/Pong-v5", "--preset", "modern").settings.network == "mlp"
    assert options_of("ale_py:ALE/Pong-v5").preset == "atari"
    assert options_of("--fresh", "ALE/Pong-v5").preset == "atari"
    assert options_of("CartPole-v1").preset == "physical"
    assert options_of("CartPole-v1", "--out", "ALE/Pong").preset == "physical"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["ALE/Pong-v5", "--agent", "ddpg"], "ddpg acts with real numbers, which Atari games do"),
        (["ALE/Pung-v5"], "no environment ALE/Pung-v5; did you mean ALE/Pong-v5?"),
        (["Pong-v5"], "no environment Pong-v5; did you mean ALE/Pong-v5?"),
        (["ALE/Pong-v5", "--envs", "0"], "--envs 0 is below 1"),
        (["ALE/Pong-v5", "--rank", "4"], "--rank 4, --orders 1 2 3 4: order 4 on 3 vertices; "),
        (["ALE/Pong-v5", "--action-shape", "18"], "--orders 1 2 3: "),
        (["ALE/Pong-v5", "--replay-size", "9000000000"], "-size 9000000000: replay takes up to"),
    ],
)
def test_mistakes_are_told_in_one_line(args, told, tmp_path, capsys):
    assert main(["train", *args, "--out", str(tmp_path / "run")]) != 0
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_games_are_known_by_their_names_elsewhere():
    for name in ("BankHeistNoFrameskip-v4", "BankHeist-v0", "ALE/BankHeist-v4"):
        assert same_game(name) == "ALE/BankHeist-v5"
    assert same_game("CartPole-v1") is None


def test_games_are_known_to_end():
    assert Single(environments.make("ALE/Pong-v5")).has_limit
    assert Single(environments.make("ale_py:ALE/Pong-v5")).has_limit


@pytest.mark.parametrize("agent", ["dqn", "hgqn", "rainbow", "hg-rainbow"])
def test_every_agent_of_the_paper_learns_some_steps(agent, tmp_path):
    out = tmp_path / "run"
    command = [
        sys.executable, "-m", "hyperaction", "train", "ALE/BankHeist-v5", "--agent", agent, *SMALL,
        "--steps", "300", "--phase-steps", "200", "--max-episode-steps", "150", "--out", str(out),
    ]  # fmt: skip
    if agent == "hgqn":
        command += ["--mixer", "universal", "--rank", "2"]
    if agent == "dqn":
        command += ["--envs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "replay takes up to" in done.stdout
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert rows
    assert {row["kind"] for row in rows} == {"train"}
    assert all(np.isfinite(row["loss"]) for row in rows)
    if agent == "hgqn":
        played = [sys.executable, "-m", "hyperaction", "evaluate", str(out), "--episodes", "1"]
        assert "mean" in subprocess.run(played, capture_output=True, text=True, check=True).stdout


def test_learning_rewards_are_clipped_and_reported_ones_are_not():
    env = environments.make("ALE/BankHeist-v5", max_episode_steps=400)
    options = options_of("ALE/BankHeist-v5", "--replay-start", "10000", *SMALL[:6])
    agent = Prepared(options, env).agent
    training = learning.Training(agent, Single(env), 0)
    ended = []
    while not any(episode.total for episode in ended):
        ended += training.advance()
    rewards = training.ring.numbers.arrays.reward
    assert set(np.unique(rewards)) <= {-1.0, 0.0, 1.0}
    assert max(episode.total for episode in ended) >= 10
    assert rewards.sum() < sum(episode.total for episode in ended)


@pytest.mark.parametrize(("envs", "times"), [("1", 5), ("2", 2)])
def test_a_game_that_is_killed_is_the_game_that_never_stopped(envs, times, tmp_path, monkeypatch):
    options = options_of(
        "ALE/BankHeist-v5", "--agent", "hg-rainbow", *SMALL, "--steps", "400", "--phase-steps",
        "250", "--checkpoint-steps", "70", "--max-episode-steps", "90", "--envs", envs,
    )  # fmt: skip
    killer = Killer(monkeypatch)
    monkeypatch.setattr(learning, "Programs", functools.cache(learning.Programs))

    def run(out):
        with Run(out, options.config(), tensorboard=False) as opened:
            prepared = Prepared(options, options.make_env())
            prepared.train(opened, lambda progress: None, lambda news: None)

    def metrics(out):
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        return [{k: v for k, v in row.items() if k != "steps_per_second"} for row in rows]

    run(tmp_path / "whole")
    assert len(metrics(tmp_path / "whole")) == 2
    moments = np.random.default_rng(0).choice(len(killer.seen), times, replace=False)
    for number, moment in enumerate(moments):
        killer.left = int(moment)
        with pytest.raises(KilledError):
            run(tmp_path / str(number))
        killer.left = None
        run(tmp_path / str(number))
        assert metrics(tmp_path / str(number)) == metrics(tmp_path / "whole"), killer.seen[moment]


def test_a_replay_that_does_not_fit_is_refused_with_one_that_does(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(memory, "available", lambda: 4_000_000_000)
    code = main(["train", "ALE/Pong-v5", "--out", str(tmp_path / "run")])
    assert code == 1
    said = capsys.readouterr().err
    assert "replay takes up to 7.1 GB of memory" in said
    assert "only 4.0 GB is free; --replay-size 350000 would fit" in said
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="--replay-size 350000 would fit"):
        hyperaction.HGQN("ALE/Pong-v5")


def test_other_environments_have_no_episode_start():
    env = gymnasium.make("CartPole-v1")
    assert episode_start(env, np.zeros(4, np.uint8)) is None
    assert make_games("ALE/Pong-v5", 2).num_envs == 2


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
