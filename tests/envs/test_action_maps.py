"""Action spaces as vertices and sub-actions."""

import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.envs.factoring import action_map, continuous, fits
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import SettingError
from tests.envs.samples import BOX, Any


@pytest.mark.parametrize(
    ("space", "sizes"),
    [
        (spaces.Box(np.array([-1, 0], np.float32), np.array([1, 4], np.float32)), (5, 5)),
        (spaces.Box(-2, 2, (2, 2), np.float64), (5, 5, 5, 5)),
        (spaces.MultiDiscrete([3, 1, 4]), (3, 1, 4)),
        (spaces.MultiDiscrete([3, 2], start=[-1, 10]), (3, 2)),
        (spaces.MultiDiscrete(np.array([[3, 2], [2, 2]])), (3, 2, 2, 2)),
        (spaces.MultiBinary(3), (2, 2, 2)),
        (spaces.MultiBinary((2, 2)), (2, 2, 2, 2)),
        (spaces.Discrete(6, start=3), (6,)),
        (spaces.Box(-3, 3, (), np.float64), (5,)),
        (spaces.Box(-4, 4, (2,), np.int8), (5, 5)),
        (spaces.Box(-(2**63), 2**63 - 1, (1,), np.int64), (5,)),
        (spaces.Box(0, 2**64 - 1, (1,), np.uint64), (5,)),
        (spaces.Box(-65504, 65504, (1,), np.float16), (5,)),
    ],
    ids=str,
)
def test_every_joint_action_is_one_of_the_space(space, sizes):
    env = Factored(Any(BOX, space), action_map(space))
    assert env.sizes == sizes
    env.reset(seed=0)
    seen = set()
    for action in np.ndindex(*sizes):
        env.step(np.array(action, np.int32))
        seen.add(np.asarray(env.env.last).tobytes())
    assert len(seen) == np.prod(sizes)


def test_boxes_are_spaced_evenly_with_their_end_points():
    space = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 8], np.float32))
    actions = action_map(space, bins=(5, 3))
    assert actions.sizes == (5, 3)
    np.testing.assert_allclose(actions(np.array([0, 0])), [-1.0, 0.0])
    np.testing.assert_allclose(actions(np.array([1, 1])), [-0.5, 4.0])
    np.testing.assert_allclose(actions(np.array([4, 2])), [1.0, 8.0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_limits_as_far_apart_as_floats_go_leave_every_level_finite(dtype):
    most = np.finfo(dtype).max
    space = spaces.Box(-most, most, (1,), dtype)
    levels = np.array([action_map(space, 5)([level]) for level in range(5)])[:, 0]
    np.testing.assert_allclose(levels / most, [-1, -0.5, 0, 0.5, 1], atol=1e-3)
    assert np.isfinite(continuous(space)(np.array([1.0]))).all()


def test_numbers_of_numpy_are_numbers():
    box, discrete = spaces.Box(-1, 1, (2,)), spaces.Discrete(6)
    for bins in (3, np.int64(3), [3], np.array([3, 3]), (np.uint8(3), 3)):
        assert action_map(box, bins).sizes == (3, 3)
    assert action_map(discrete, shape=np.array([2, 3])).sizes == (2, 3)
    for wrong in (3.0, "3", True, None, [[1], [1, 2]]):
        with pytest.raises(SettingError, match=r"^bins must be whole numbers, not "):
            action_map(box, wrong)


def test_a_discrete_space_can_be_given_a_shape():
    actions = action_map(spaces.Discrete(18), shape=(3, 3, 2))
    assert actions.sizes == (3, 3, 2)
    assert [actions(np.array(a)) for a in np.ndindex(3, 3, 2)] == list(range(18))


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (spaces.Discrete(18), {"shape": (3, 3)}, "makes 9 actions, but the action space has 18"),
        (spaces.MultiBinary(2), {"shape": (2, 2)}, "action_shape is for Discrete"),
        (spaces.Box(-np.inf, np.inf, (2,)), {}, "has no limits"),
        (spaces.Box(-1, 1, (3,)), {"bins": (5, 5)}, "one for each of the 3 dimensions"),
        (spaces.Box(-1, 1, (3,)), {"bins": (1,)}, "at least 2"),
        (spaces.Box(-1, 1, (0,)), {}, "has no dimensions to act in"),
        (spaces.MultiDiscrete([]), {}, "has no dimensions to act in"),
        (spaces.Box(0, np.inf, (2,)), {}, "has no limits"),
        (spaces.Box(-1, 1, (3,)), {"bins": 10**8}, "make 300,000,000 sub-actions; at most 1,000,0"),
        (spaces.MultiDiscrete([2**31, 2]), {}, "has 2,147,483,650 sub-actions; at most 1,000,000"),
        (spaces.Discrete(2**40), {}, "at most 1,000,000 are allowed; factor it with action_shape"),
        (spaces.Text(3), {}, "cannot be factored; Box, MultiDiscrete, MultiBinary and Discrete"),
    ],
)
def test_what_cannot_be_factored_is_told_what_would_work(space, options, message):
    with pytest.raises(ValueError, match=message):
        action_map(space, **options)


def test_actions_fit_only_the_space_that_they_were_made_for():
    several = [
        spaces.MultiDiscrete([3, 3]),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiDiscrete([3, 3], start=[1, 0]),
        spaces.MultiBinary(2),
        spaces.Discrete(9),
        spaces.Box(-1, 1, (2,)),
        spaces.Box(-1, 2, (2,)),
        spaces.Box(-1, 1, (2, 1)),
    ]
    shapes = [(3, 3) if isinstance(space, spaces.Discrete) else () for space in several]
    maps = [action_map(space, (3,), shape) for space, shape in zip(several, shapes, strict=True)]
    maps.append(continuous(several[5]))
    for place, actions in enumerate(maps):
        fitting = [number for number, space in enumerate(several) if fits(actions, space)]
        assert fitting == [5 if place == 8 else place]
