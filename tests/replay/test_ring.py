"""The ring of transitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.replay.ring import Ring, Transition


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
