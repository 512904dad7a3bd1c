"""The replay of images: each frame once, stacks as they were."""

from dataclasses import replace
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.agents.settings import ValueSettings
from hyperaction.agents.value import ValueAgent
from hyperaction.environments import Factored, Single
from hyperaction.environments.actions import Product
from hyperaction.replay import FrameRing, NStep, Priorities, make_replay, replay_bytes
from hyperaction.runs import checkpoints as checkpoints_module
from hyperaction.runs.checkpoints import Checkpoints, Growth
from hyperaction.training import Training, train

SIDE = 3
ENDS = ["go on"] * 5 + ["terminated", "truncated"]


class Games:
    """Some environments whose frames are all different, with their stacks made the slow way."""

    def __init__(self, count, stacked, padding, seed):
        self.random = np.random.default_rng(seed)
        self.stacked, self.padding = stacked, padding
        self.episodes = [[self.frame()] for _ in range(count)]

    def frame(self):
        return self.random.integers(0, 256, (SIDE, SIDE), np.uint8)

    def stack(self, place):
        frames = self.episodes[place]
        first = np.zeros_like(frames[0]) if self.padding == "zero" else frames[0]
        padded = [first] * (self.stacked - 1) + frames
        return np.stack(padded[-self.stacked :])

    def step(self, place, kind):
        """The stack before, and the one after; an end begins anew."""
        before = self.stack(place)
        self.episodes[place].append(self.frame())
        after = self.stack(place)
        if kind != "go on":
            self.episodes[place] = [self.frame()]
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
    priorities, expected, kept, where = Priorities(capacity), [], [None] * 3, {}
    flat = [(place, kind) for kinds in steps for place, kind in enumerate(kinds)]
    for number, (place, kind) in enumerate(flat):
        before, after = games.step(place, kind)
        ends = {"terminated": kind == "terminated", "truncated": kind == "truncated"}
        action = np.array([number])
        now = ring.keep(before, None) if kept[place] is None else kept[place]
        then = ring.keep(after, now)
        kept[place] = then if kind == "go on" else None
        stored = [ring.add(t) for t in n_steps[place].add(now, action, 1.0, then, **ends)]
        priorities.renew(ring.forgotten(), stored)
        where |= {len(expected) + place: new for place, new in enumerate(stored)}
        expected += lists[place].add(before, action, 1.0, after, **ends)
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
    places = {where[number] for number in alive}
    assert set(np.flatnonzero(priorities.priorities)) == places
    if places:
        random = np.random.default_rng(0)
        assert set(ring.draw(50, random)) <= places
        assert set(priorities.sample(50, random)) <= places


def test_every_frame_is_kept_once():
    games, ring = Games(1, 4, "zero", 0), FrameRing(1000, (4, SIDE, SIDE), 4, 1)
    kept, n_step, episodes = None, NStep(1, 0.9), 1
    for number in range(500):
        kind = "terminated" if number % 50 == 49 else "go on"
        before, after = games.step(0, kind)
        now = ring.keep(before, None) if kept is None else kept
        then = ring.keep(after, now)
        kept = then if kind == "go on" else None
        episodes += kind != "go on" and number < 499
        ends = {"terminated": kind != "go on", "truncated": False}
        for transition in n_step.add(now, np.zeros(1), 0.0, then, **ends):
            ring.add(transition)
    assert ring.frames.added == 500 + episodes


def test_observations_that_share_nothing_are_still_right():
    ring = FrameRing(100, (2, SIDE, SIDE), 2, 1)
    random = np.random.default_rng(0)
    stacks = random.integers(1, 256, (11, 2, SIDE, SIDE), np.uint8)
    n_step, now = NStep(1, 0.9), ring.keep(stacks[0], None)
    for stack in stacks[1:]:
        then = ring.keep(stack, now)
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
    ring = make_replay(1_000, observed, 3)
    numbers = ring.numbers if isinstance(ring, FrameRing) else ring
    arrays = [array for array in numbers.arrays if array is not None]
    arrays += [ring.frames.array] if isinstance(ring, FrameRing) else []
    assert replay_bytes(1_000, observed, 3) == sum(array.nbytes for array in arrays)


def test_a_million_atari_frames_take_less_than_seven_and_a_half_gigabytes():
    assert 7.056e9 <= replay_bytes(1_000_000, GAME, 3) <= 7.5e9


def test_what_was_forgotten_is_not_remembered_for_ever():
    env = Single(Factored(Picture(), Product((2,), 0)))
    settings = ValueSettings(
        network="cnn", total_width=8, replay_size=64, replay_start=40, minibatch=32
    )
    agent = ValueAgent(settings, settings.hypergraph((2,)), env.observation_shape)
    training = Training(agent, env, 0)
    for _ in range(39):
        training.advance()
    for _ in range(400):  # Nothing is learned here, as that takes long.
        training.empty_since = training.step
        training.advance()
    assert len(training.ring._forgotten) == 0
    small = ValueAgent(
        replace(settings, replay_size=32), settings.hypergraph((2,)), env.observation_shape
    )
    with pytest.raises(ValueError, match="transitions, fewer than --minibatch 32"):
        train(Training(small, env, 0), 200, exact=True)


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
    games, kept = Games(1, 4, "zero", 0), None
    n_step = NStep(3, 0.9)

    def play():
        nonlocal kept
        for _ in range(10):
            before, after = games.step(0, "go on")
            now = ring.keep(before, None) if kept is None else kept
            kept = ring.keep(after, now)
            ends = {"terminated": False, "truncated": False}
            for transition in n_step.add(now, np.zeros(1), 0.0, kept, **ends):
                ring.add(transition)

    with pytest.raises(ValueError, match="--replay-size 3 cannot hold"):
        play()


@pytest.mark.parametrize("capacity", [30, 200])
def test_frames_come_back_from_checkpoints_in_pieces(tmp_path, capacity, monkeypatch):
    monkeypatch.setattr(checkpoints_module, "LARGEST_PIECE", 10)
    games, ring, n_step = Games(1, 4, "zero", 0), FrameRing(capacity, (4, SIDE, SIDE), 4, 1), None
    n_step, kept, saved = NStep(3, 0.9), None, {"replay": 0, "frames": 0}
    checkpoints = Checkpoints(tmp_path)
    for number in range(120):
        kind = "truncated" if number % 17 == 16 else "go on"
        before, after = games.step(0, kind)
        now = ring.keep(before, None) if kept is None else kept
        then = ring.keep(after, now)
        kept = then if kind == "go on" else None
        ends = {"terminated": False, "truncated": kind != "go on"}
        for transition in n_step.add(now, np.array([number]), 1.0, then, **ends):
            ring.add(transition)
        if number % 25 != 24:
            continue
        replay = {}
        for name, stream in ring.streams.items():
            first = max(saved[name], stream.oldest)
            replay[name] = Growth(first, stream.added, stream.oldest, stream.between)
            saved[name] = stream.added
        checkpoints.write({"agent": {}, "ring": ring.state()}, {"x": np.zeros(1)}, replay)
        found, problems = Checkpoints(tmp_path).latest()
        assert not problems
        again = FrameRing(capacity, (4, SIDE, SIDE), 4, 1)
        for piece in found.replay:
            again.streams[piece.stream].refill(piece.first, piece.read())
        again.restore(found.state["ring"])
        assert len(again) == len(ring)
        places = np.arange(ring.oldest, ring.numbers.added) % capacity
        for ours, theirs in zip(again.take(places)[:5], ring.take(places)[:5], strict=True):
            np.testing.assert_array_equal(ours, theirs)
