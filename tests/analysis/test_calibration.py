"""Values beside the returns that followed them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.analysis.calibration import MAX_TAIL, Calibration, returns_after, summary
from hyperaction.analysis.rollout import Rollout

LAST, TERMINATED, TRUNCATED, GOES_ON = range(4)


def rollout(values, rewards, ends):
    """Steps with these ends; the last is cut off if nothing else ends it."""
    ends = [TRUNCATED if each == LAST else each for each in ends]
    if ends[-1] == GOES_ON:
        ends[-1] = TRUNCATED
    terminated, truncated = (np.array(ends) == end for end in (TERMINATED, TRUNCATED))
    outputs, actions = np.zeros((len(values), 3), np.float32), np.zeros((len(values), 2), np.int32)
    values = np.asarray(values, np.float32)
    return Rollout(outputs, actions, values, np.asarray(rewards, float), terminated, truncated)


def slow_returns(steps, discount):
    """Each step's return and tail, from the definition."""
    found = []
    for start in range(len(steps.rewards)):
        total, power = 0.0, 1.0
        for step in range(start, len(steps.rewards)):
            total += power * steps.rewards[step]
            power *= discount
            if steps.terminated[step] or steps.truncated[step]:
                found.append((total, 0.0 if steps.terminated[step] else power))
                break
    return np.array(found).T


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([TERMINATED, TRUNCATED, *[GOES_ON] * 4])),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)
def test_returns_are_those_of_their_episodes(steps, discount):
    rewards, ends = zip(*steps, strict=True)
    made = rollout(np.zeros(len(rewards)), rewards, ends)
    found = returns_after(made.rewards, made.terminated, made.truncated, discount)
    np.testing.assert_allclose(found, slow_returns(made, discount), atol=1e-9)


def test_steps_count_where_little_is_missing():
    discount, count = 0.5, 10
    random = np.random.default_rng(0)
    values, rewards = random.normal(size=(2, count))
    made = rollout(values, rewards, [GOES_ON] * count)
    calibration = Calibration(discount)
    for some in (slice(0, 4), slice(4, count)):
        calibration.add(Rollout(*(part[some] for part in made)))
    counted, returns = calibration.pairs()
    known = int(np.sum(discount ** np.arange(count, 0, -1) <= MAX_TAIL))
    np.testing.assert_allclose(counted, values[:known], rtol=1e-6)
    np.testing.assert_allclose(returns, slow_returns(made, discount)[0][:known])
    found = summary([calibration])
    assert found["steps"] == known
    assert found["correlation"] == pytest.approx(np.corrcoef(counted, returns)[0, 1])
    assert summary([Calibration(0.99)]) is None


def test_rewards_are_clipped_as_they_were_for_learning():
    made = rollout([1.0, 1.0], [5.0, -3.0], [GOES_ON, TERMINATED])
    calibration = Calibration(1.0, reward_clip=2.0)
    calibration.add(made)
    np.testing.assert_array_equal(calibration.pairs()[1], [0.0, -2.0])
