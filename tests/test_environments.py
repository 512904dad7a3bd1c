import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.envs.action_maps import action_map, continuous, fits
from hyperaction.envs.make import make
from hyperaction.envs.wrapper import Factored


class Any(gymnasium.Env):
    """An environment of any spaces; remembers the last action."""

    def __init__(self, observations, actions, info=None):
        self.observation_space, self.action_space = observations, actions
        self.info = info or {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), self.info

    def step(self, action):
        assert self.action_space.contains(action)
        self.last = action
        return self.observation_space.sample(), 1.5, False, True, self.info


BOX = spaces.Box(-1, 1, (3,))


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
        (spaces.Text(3), {}, "cannot be factored; Box, MultiDiscrete, MultiBinary and Discrete"),
    ],
)
def test_what_cannot_be_factored_is_told_what_would_work(space, options, message):
    with pytest.raises(ValueError, match=message):
        action_map(space, **options)


@pytest.mark.parametrize(
    ("space", "shape", "dtype"),
    [
        (spaces.Box(0, 255, (4, 6, 2), np.uint8), (4, 6, 2), np.uint8),
        (spaces.Dict({"a": BOX, "b": spaces.Discrete(4)}), (7,), np.float32),
        (spaces.Tuple([BOX, spaces.MultiBinary(2)]), (5,), np.float32),
    ],
    ids=["image", "dict", "tuple"],
)
def test_observations_become_arrays_of_floats_and_bytes_stay_bytes(space, shape, dtype):
    env = Factored(Any(space, spaces.Discrete(2)), action_map(spaces.Discrete(2)))
    observation, mask = env.reset(seed=1)
    assert env.observation_shape == observation.shape == shape
    assert observation.dtype == env.observation_dtype == dtype
    assert mask is None
    step = env.step(np.array([1]))
    assert (step.reward, step.terminated, step.truncated) == (1.5, False, True)


def test_observations_that_cannot_be_flattened_are_refused():
    space = spaces.Sequence(BOX)
    with pytest.raises(ValueError, match=r"observation space .* Box of any shape works"):
        Factored(Any(space, spaces.Discrete(2)), action_map(spaces.Discrete(2)))


def test_masks_come_from_the_info():
    info = {"action_mask": np.array([1, 0], np.int8)}
    env = Factored(Any(BOX, spaces.Discrete(2), info), action_map(spaces.Discrete(2)))
    np.testing.assert_array_equal(env.reset()[1], [True, False])
    np.testing.assert_array_equal(env.step(np.array([0])).mask, [True, False])


def test_an_unknown_environment_is_told_the_nearest():
    with pytest.raises(
        ValueError, match="unknown environment 'CartPol-v1'; did you mean 'CartPole-v1'"
    ):
        make("CartPol-v1")
    assert make("CartPole-v1").sizes == (2,)


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
