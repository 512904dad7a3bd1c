"""Sampling by priorities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.replay.priorities import Priorities


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
