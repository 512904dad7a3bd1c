import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.replay.n_step import NStep
from hyperaction.replay.priorities import Priorities
from hyperaction.replay.ring import Ring, Transition

steps = st.lists(
    st.tuples(st.floats(-5, 5), st.sampled_from(["step"] * 5 + ["terminated", "truncated"])),
    min_size=1,
    max_size=40,
)


def slow_transitions(history, n, discount):
    """From every step, look ahead n steps or to the end of the episode."""
    found = []
    for start in range(len(history)):
        total, ends = 0.0, None
        for k, (reward, kind) in enumerate(history[start : start + n]):
            total += discount**k * reward
            if kind != "step" or k == n - 1:
                ends = (k + 1, kind)
                break
        if ends is not None:
            length, kind = ends
            bootstrap = 0.0 if kind == "terminated" else discount**length
            found.append((start, total, bootstrap, start + length))
    return found


@given(steps, st.integers(1, 5), st.floats(0.0, 1.0))
def test_n_step_returns_equal_a_look_ahead_from_every_step(history, n, discount):
    n_step = NStep(n, discount)
    found = []
    for slot, (reward, kind) in enumerate(history):
        found += n_step.add(
            np.array([slot], np.float32),
            np.array([slot], np.int32),
            reward,
            np.array([slot + 1], np.float32),
            terminated=kind == "terminated",
            truncated=kind == "truncated",
        )
    expected = slow_transitions(history, n, discount)
    got = [(int(t.observation[0]), t.reward, t.discount, int(t.next_observation[0])) for t in found]
    assert [row[0] for row in sorted(got)] == [row[0] for row in expected]
    np.testing.assert_allclose(sorted(got), expected, atol=1e-9)


@given(st.integers(1, 20), st.integers(0, 60))
def test_a_ring_holds_the_last_transitions(capacity, count):
    ring = Ring(capacity, (2,), 3)
    history = []
    for number in range(count):
        transition = Transition(
            np.full(2, number, np.float32),
            np.full(3, number % 7, np.int32),
            float(number),
            0.5,
            np.full(2, number + 1, np.float32),
        )
        assert ring.add(transition) == number % capacity
        history.append(transition)
    kept = history[-capacity:]
    assert len(ring) == len(kept)
    batch = ring.take(np.arange(len(ring)))
    assert sorted(batch.reward.tolist()) == [t.reward for t in kept]
    for row, reward in enumerate(batch.reward.astype(int)):
        np.testing.assert_array_equal(batch.observation[row], history[reward].observation)
        np.testing.assert_array_equal(batch.action[row], history[reward].action)
        np.testing.assert_array_equal(batch.next_observation[row], history[reward].next_observation)


def test_a_ring_keeps_masks_where_there_are_any():
    ring = Ring(2, (1,), 1, mask_length=3)
    mask = np.array([True, False, True])
    ring.add(Transition(np.zeros(1), np.zeros(1, np.int32), 0.0, 1.0, np.zeros(1), mask))
    ring.add(Transition(np.zeros(1), np.zeros(1, np.int32), 0.0, 1.0, np.zeros(1), None))
    np.testing.assert_array_equal(ring.take(np.arange(2)).next_mask, [mask, [True] * 3])


@pytest.mark.parametrize("capacity", [1, 5, 64, 100])
def test_slots_are_drawn_in_proportion_to_their_priorities(capacity):
    random = np.random.default_rng(0)
    tree = Priorities(capacity)
    priorities = random.random(capacity) + 0.01
    priorities[capacity // 2] = 0.0 if capacity > 1 else 1.0
    tree.set(np.arange(capacity), priorities)
    draws = np.concatenate([tree.sample(32, random) for _ in range(2000)])
    share = np.bincount(draws, minlength=capacity) / len(draws)
    np.testing.assert_allclose(share, priorities / priorities.sum(), atol=0.01)


@given(st.integers(1, 30), st.integers(0, 1000))
def test_the_tree_holds_the_priorities_set_last(capacity, seed):
    random = np.random.default_rng(seed)
    tree, slow = Priorities(capacity), np.zeros(capacity)
    for _ in range(8):
        slots = random.integers(capacity, size=5)
        priorities = random.random(5)
        tree.set(slots, priorities)
        for slot, priority in zip(slots, priorities, strict=True):
            slow[slot] = priority
    np.testing.assert_allclose(tree.tree[1], slow.sum())
    np.testing.assert_array_equal(tree.tree[tree.leaves : tree.leaves + capacity], slow)
    new, old = int(slots[0]), (int(slots[0]) + 1) % capacity
    tree.renew([old], [new])
    assert tree.priorities[new] == tree.largest
    assert new == old or tree.priorities[old] == 0.0
    np.testing.assert_allclose(tree.tree[1], tree.priorities.sum())


def test_weights_undo_the_bias_of_sampling():
    tree = Priorities(4)
    tree.set(np.arange(4), np.array([1.0, 4.0, 9.0, 16.0]))
    weights = tree.weights(np.array([1, 2, 3]))
    expected = 1 / np.sqrt(np.array([4.0, 9.0, 16.0]) / 30)
    np.testing.assert_allclose(weights, expected / expected.max(), rtol=1e-6)
