"""Atari games under Dopamine's protocol, against slow references of the emulator's own screens."""

from functools import cache

import gymnasium
import numpy as np
import pytest

from hyperaction.envs import atari
from hyperaction.envs.atari import JOYSTICK, current_id, episode_start
from hyperaction.envs.make import make, make_vector
from hyperaction.envs.vector import Single

ale_py = pytest.importorskip("ale_py")


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


def test_games_are_known_by_their_names_elsewhere():
    for name in ("BankHeistNoFrameskip-v4", "BankHeist-v0", "ALE/BankHeist-v4"):
        assert current_id(name) == "ALE/BankHeist-v5"
    assert current_id("CartPole-v1") is None


def test_games_are_known_to_end():
    assert Single(make("ALE/Pong-v5")).has_limit
    assert Single(make("ale_py:ALE/Pong-v5")).has_limit


def test_other_environments_have_no_episode_start():
    env = gymnasium.make("CartPole-v1")
    assert episode_start(env, np.zeros(4, np.uint8)) is None
    assert atari.make_vector("ALE/Pong-v5", 2).num_envs == 2
