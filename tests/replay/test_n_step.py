"""Returns over n steps, against a look ahead."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.replay.n_step import NStep

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
