"""One factored environment: observations, masks, ids."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hyperaction.envs.factoring import action_map
from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.envs.make import make
from hyperaction.envs.resumable import Resumable
from hyperaction.envs.vector import Single, Vector
from hyperaction.envs.wrapper import Factored
from tests.envs.samples import BOX, Any

DISCRETE = spaces.Discrete(2)


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


def test_masks_come_from_the_info():
    info = {"action_mask": np.array([1, 0], np.int8)}
    env = Factored(Any(BOX, spaces.Discrete(2), info), action_map(spaces.Discrete(2)))
    np.testing.assert_array_equal(env.reset()[1], [True, False])
    np.testing.assert_array_equal(env.step(np.array([0])).mask, [True, False])


MASKS = {
    "0-d": np.array(True),
    "text": "ab",
    "letters": ["a", "b"],
    "dict": {"a": 1},
    "ragged": [[1], [1, 0]],
    "two axes": np.ones((2, 2)),
    "objects": [None, object()],
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_what_is_no_mask_is_refused_in_one_line(mask):
    def make():
        return Any(BOX, spaces.Discrete(2), {"action_mask": mask})

    several = SyncVectorEnv([make, make])
    actions = action_map(spaces.Discrete(2))
    for env in (Single(Factored(make(), actions)), Vector(several, actions)):
        with pytest.raises(EnvironmentFaultError, match="gave the action_mask") as e:
            env.reset(0)
        assert "\n" not in str(e.value)


@pytest.mark.parametrize("mask", [[True, False], [1, 0], (1.0, 0.0), np.array([1, 0], np.int8)])
def test_masks_may_be_lists_of_any_numbers(mask):
    env = Factored(Any(BOX, spaces.Discrete(2), {"action_mask": mask}), action_map(DISCRETE))
    np.testing.assert_array_equal(env.reset()[1], [True, False])


class Changing(Any):
    """Its second mask is longer than its first."""

    def __init__(self):
        super().__init__(BOX, DISCRETE, {"action_mask": np.ones(2, bool)})

    def step(self, action):
        self.info = {"action_mask": np.ones(3, bool)}
        return super().step(action)


@pytest.mark.parametrize("several", [False, True])
def test_masks_that_change_their_length_are_refused(several):
    actions = action_map(DISCRETE)
    vector = SyncVectorEnv([Changing, Changing], autoreset_mode=AutoresetMode.SAME_STEP)
    env = Vector(vector, actions) if several else Single(Factored(Changing(), actions))
    env.reset(0)
    with pytest.raises(EnvironmentFaultError, match=r"gave the action_mask .* give a row of 2"):
        env.step(np.zeros((env.num_envs, 1), np.int32))


class Late(Any):
    """It has no mask at first."""

    def __init__(self):
        super().__init__(BOX, DISCRETE, {})

    def step(self, action):
        self.info = {"action_mask": np.ones(2, bool)}
        return super().step(action)


@pytest.mark.parametrize("several", [False, True])
def test_a_mask_that_comes_after_the_first_reset_is_refused(several):
    actions = action_map(DISCRETE)
    vector = SyncVectorEnv([Late, Late], autoreset_mode=AutoresetMode.SAME_STEP)
    env = Vector(vector, actions) if several else Single(Factored(Late(), actions))
    env.reset(0)
    with pytest.raises(EnvironmentFaultError, match="action_mask, but none in its first reset"):
        env.step(np.zeros((env.num_envs, 1), np.int32))


@pytest.mark.parametrize(
    ("later", "message"),
    [({"action_mask": [1, 1, 1]}, "give a row of 2"), ({}, "other action masks in a later")],
)
def test_environments_made_again_give_masks_as_the_first(later, message):
    infos = iter([{"action_mask": [1, 0]}, later])

    def make():
        return Single(Factored(Any(BOX, DISCRETE, next(infos)), action_map(DISCRETE)))

    envs = Resumable(make, 0)
    with pytest.raises(EnvironmentFaultError, match=message):
        envs.remake(1)


@pytest.mark.parametrize(
    "observation", [np.array(["a", "b", "c"], object), "abc", {"a": 1}, [[1.0], [2.0]]], ids=str
)
def test_observations_that_are_no_numbers_are_refused_in_one_line(observation):
    env = Any(BOX, DISCRETE)
    env.reset = lambda **options: (observation, {})
    with pytest.raises(EnvironmentFaultError, match="observation"):
        Factored(env, action_map(DISCRETE)).reset()


def test_an_unknown_environment_is_told_the_nearest():
    with pytest.raises(
        ValueError, match="unknown environment 'CartPol-v1'; did you mean 'CartPole-v1'"
    ):
        make("CartPol-v1")
    assert make("CartPole-v1").sizes == (2,)
