"""The replay of images: each frame once, stacks as they were."""

from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.parts import with_changes
from hyperaction.envs.action_maps import Product
from hyperaction.envs.vector import Single
from hyperaction.envs.wrapper import Factored
from hyperaction.replay.buffer import ReplayBuffer, replay_bytes
from hyperaction.replay.frames import FrameRing
from hyperaction.replay.n_step import NStep
from hyperaction.replay.priorities import Priorities
from hyperaction.runs import checkpoints as checkpoints_module
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.training.loop import train
from hyperaction.training.trainer import Trainer

SIDE = 3
ENDS = ["step"] * 5 + ["terminated", "truncated"]


class Games:
    """Some environments whose frames are all different, with their stacks made the slow way."""

    def __init__(self, count, stacked, padding, seed):
        self.random = np.random.default_rng(seed)
        self.stacked, self.padding = stacked, padding
        self.episodes = [[self.frame()] for _ in range(count)]

    def frame(self):
        return self.random.integers(0, 256, (SIDE, SIDE), np.uint8)

    def stack(self, env_index):
        frames = self.episodes[env_index]
        first = np.zeros_like(frames[0]) if self.padding == "zero" else frames[0]
        padded = [first] * (self.stacked - 1) + frames
        return np.stack(padded[-self.stacked :])

    def step(self, env_index, kind):
        """The stack before, and the one after; an end begins anew."""
        before = self.stack(env_index)
        self.episodes[env_index].append(self.frame())
        after = self.stack(env_index)
        if kind != "step":
            self.episodes[env_index] = [self.frame()]
        return before, after


@given(
    st.lists(st.tuples(*[st.sampled_from(ENDS)] * 3), min_size=1, max_size=30),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(["zero", "reset"]),
    st.integers(40, 70),
    st.integers(0, 9),
)
def test_transitions_of_frames_equal_those_of_lists(steps, stacked, n, padding, capacity, seed):
    games, n_steps = Games(3, stacked, padding, seed), [NStep(n, 0.9) for _ in range(3)]
    lists = [NStep(n, 0.9) for _ in range(3)]
    ring = FrameRing(capacity, (stacked, SIDE, SIDE), stacked, 1)
    priorities, expected, encoded, where = Priorities(capacity), [], [None] * 3, {}
    flat = [(env_index, kind) for kinds in steps for env_index, kind in enumerate(kinds)]
    for number, (env_index, kind) in enumerate(flat):
        before, after = games.step(env_index, kind)
        ends = {"terminated": kind == "terminated", "truncated": kind == "truncated"}
        action = np.array([number])
        now = ring.encode(before, None) if encoded[env_index] is None else encoded[env_index]
        then = ring.encode(after, now)
        encoded[env_index] = then if kind == "step" else None
        stored = [ring.add(t) for t in n_steps[env_index].add(now, action, 1.0, then, **ends)]
        priorities.renew(ring.pop_evicted(), stored)
        where |= {len(expected) + index: slot for index, slot in enumerate(stored)}
        expected += lists[env_index].add(before, action, 1.0, after, **ends)
    assert ring.numbers.added == len(expected)
    alive = range(ring.oldest, ring.numbers.added)
    if ring.frames.added <= capacity:
        assert ring.oldest == 0
    # No more are left out than may reach back to frames that are gone.
    assert ring.frames.added - capacity >= ring.oldest - ring.reach or not ring.oldest
    batch = ring.take(np.array([where[number] for number in alive], np.intp))
    for row, number in enumerate(alive):
        np.testing.assert_array_equal(batch.observation[row], expected[number].observation)
        np.testing.assert_array_equal(
            batch.next_observation[row], expected[number].next_observation
        )
        assert batch.action[row] == expected[number].action
        assert batch.reward[row] == np.float32(expected[number].reward)
        assert batch.discount[row] == np.float32(expected[number].discount)
    slots = {where[number] for number in alive}
    assert set(np.flatnonzero(priorities.priorities)) == slots
    if slots:
        random = np.random.default_rng(0)
        assert set(ring.draw(50, random)) <= slots
        assert set(priorities.sample(50, random)) <= slots


def test_every_frame_is_stored_once():
    games, ring = Games(1, 4, "zero", 0), FrameRing(1000, (4, SIDE, SIDE), 4, 1)
    encoded, n_step, episodes = None, NStep(1, 0.9), 1
    for number in range(500):
        kind = "terminated" if number % 50 == 49 else "step"
        before, after = games.step(0, kind)
        now = ring.encode(before, None) if encoded is None else encoded
        then = ring.encode(after, now)
        encoded = then if kind == "step" else None
        episodes += kind != "step" and number < 499
        ends = {"terminated": kind != "step", "truncated": False}
        for transition in n_step.add(now, np.zeros(1), 0.0, then, **ends):
            ring.add(transition)
    assert ring.frames.added == 500 + episodes


def test_observations_that_share_nothing_are_still_right():
    ring = FrameRing(100, (2, SIDE, SIDE), 2, 1)
    random = np.random.default_rng(0)
    stacks = random.integers(1, 256, (11, 2, SIDE, SIDE), np.uint8)
    n_step, now = NStep(1, 0.9), ring.encode(stacks[0], None)
    for stack in stacks[1:]:
        then = ring.encode(stack, now)
        ends = {"terminated": False, "truncated": False}
        for transition in n_step.add(now, np.zeros(1), 0.0, then, **ends):
            ring.add(transition)
        now = then
    batch = ring.take(np.arange(10))
    np.testing.assert_array_equal(batch.observation, stacks[:-1])
    np.testing.assert_array_equal(batch.next_observation, stacks[1:])


class Observed(NamedTuple):
    observation_shape: tuple[int, ...]
    observation_dtype: type
    frames: int


GAME = Observed((4, 84, 84), np.uint8, 4)


@pytest.mark.parametrize("observed", [GAME, Observed((7, 3), np.float32, 0)])
def test_the_memory_of_a_replay_is_that_of_its_arrays(observed):
    ring = ReplayBuffer(
        QLearningConfig(buffer_size=1_000), observed, action_length=3, action_dtype=np.int32,
        mask_length=None, num_envs=1, rng=np.random.default_rng(0),
    ).ring  # fmt: skip
    numbers = ring.numbers if isinstance(ring, FrameRing) else ring
    arrays = [array for array in numbers.arrays if array is not None]
    arrays += [ring.frames.array] if isinstance(ring, FrameRing) else []
    assert replay_bytes(1_000, observed, 3) == sum(array.nbytes for array in arrays)


def test_a_million_atari_frames_take_less_than_seven_and_a_half_gigabytes():
    assert 7.056e9 <= replay_bytes(1_000_000, GAME, 3) <= 7.5e9


def test_the_list_of_evicted_transitions_does_not_grow():
    env = Single(Factored(Picture(), Product((2,), 0, ("0",))))
    config = with_changes(
        QLearningConfig(buffer_size=64, learning_starts=40, batch_size=32),
        {"network": "cnn", "total_width": 8},
    )
    trainer = Trainer(config.build((2,), env.observation_shape), env, 0)
    for _ in range(39):
        trainer.advance()
    for _ in range(400):  # Nothing is learned here, as that takes long.
        trainer.replay_empty_at = trainer.step
        trainer.advance()
    assert trainer.replay.is_full
    assert len(trainer.replay.ring._evicted) == 0
    small = with_changes(config, {"buffer_size": 32}).build((2,), env.observation_shape)
    with pytest.raises(ValueError, match="transitions, fewer than batch_size 32"):
        train(Trainer(small, env, 0), 200, exact=True)


class Picture(gymnasium.Env):
    """Pictures of noise, which never end."""

    observation_space = gymnasium.spaces.Box(0, 255, (40, 40, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


def test_a_replay_too_small_for_its_stacks_is_refused():
    ring = FrameRing(3, (4, SIDE, SIDE), 4, 1)
    games, encoded = Games(1, 4, "zero", 0), None
    n_step = NStep(3, 0.9)

    def play():
        nonlocal encoded
        for _ in range(10):
            before, after = games.step(0, "step")
            now = ring.encode(before, None) if encoded is None else encoded
            encoded = ring.encode(after, now)
            ends = {"terminated": False, "truncated": False}
            for transition in n_step.add(now, np.zeros(1), 0.0, encoded, **ends):
                ring.add(transition)

    with pytest.raises(ValueError, match="buffer_size 3 cannot hold"):
        play()


@pytest.mark.parametrize("capacity", [30, 200])
def test_frames_come_back_from_checkpoints_in_pieces(tmp_path, capacity, monkeypatch):
    monkeypatch.setattr(checkpoints_module, "MAX_PIECE", 10)
    games, ring, n_step = Games(1, 4, "zero", 0), FrameRing(capacity, (4, SIDE, SIDE), 4, 1), None
    n_step, encoded = NStep(3, 0.9), None
    checkpoints = Checkpoints(tmp_path)
    for number in range(120):
        kind = "truncated" if number % 17 == 16 else "step"
        before, after = games.step(0, kind)
        now = ring.encode(before, None) if encoded is None else encoded
        then = ring.encode(after, now)
        encoded = then if kind == "step" else None
        ends = {"terminated": False, "truncated": kind != "step"}
        for transition in n_step.add(now, np.array([number]), 1.0, then, **ends):
            ring.add(transition)
        if number % 25 != 24:
            continue
        checkpoints.write({"ring": ring.state_dict()}, {"x": np.zeros(1)}, ring.streams, {})
        found, problems = Checkpoints(tmp_path).latest()
        assert not problems
        again = FrameRing(capacity, (4, SIDE, SIDE), 4, 1)
        for piece in found.replay:
            again.streams[piece.stream].refill(piece.first, piece.read())
        again.load_state_dict(found.state["ring"])
        assert len(again) == len(ring)
        slots = np.arange(ring.oldest, ring.numbers.added) % capacity
        for ours, theirs in zip(again.take(slots)[:5], ring.take(slots)[:5], strict=True):
            np.testing.assert_array_equal(ours, theirs)
