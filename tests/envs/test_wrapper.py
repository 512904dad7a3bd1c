"""One factored environment: observations, masks, ids."""

import numpy as np
import pytest
from gymnasium import spaces

from hyperaction.envs.action_maps import action_map
from hyperaction.envs.make import make
from hyperaction.envs.wrapper import Factored
from tests.envs.samples import BOX, Any


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
