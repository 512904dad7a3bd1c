"""Actions and observations in the environment's own form, and what is not used is reported."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from hyperaction import HGQN
from hyperaction.envs.action_maps import stacked, sub_actions, unstacked
from hyperaction.envs.factoring import action_map
from hyperaction.errors import SettingError
from hyperaction.training.config import parse_train
from tests.training.envs import TINY, Counting

SPACES = [
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiDiscrete(np.array([[2, 3], [2, 2]])),
    spaces.MultiBinary(3),
    spaces.Discrete(6, start=2),
    spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 3.0]), dtype=np.float64),
    spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.MultiBinary(2)])}),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_sub_actions_are_read_back_from_the_environments_actions(space):
    actions = action_map(space, 5, (2, 3) if isinstance(space, spaces.Discrete) else ())
    every = [np.array(index) for index in np.ndindex(*actions.sizes)]
    for action in every:
        assert sub_actions(actions, actions(action)) == list(action)
    batch = [actions(action) for action in every]
    for one, other in zip(unstacked(stacked(batch)), batch, strict=True):
        assert sub_actions(actions, one) == sub_actions(actions, other)


class Named(Counting):
    """Its actions are a `Dict`."""

    action_space = spaces.Dict(  # type: ignore[assignment]
        {"left": spaces.Discrete(2), "right": spaces.Discrete(2)}
    )


def test_values_are_given_for_actions_as_the_environment_takes_them():
    agent = HGQN(Named(), **TINY)
    one = agent.q_value([3.0], {"left": 1, "right": 0})
    assert one == agent.q_value([3.0], [1, 0])
    batch = {"left": np.array([1, 0]), "right": np.array([0, 0])}
    values = agent.q_value([[3.0], [3.0]], batch)
    np.testing.assert_allclose(values, agent.q_value([[3.0], [3.0]], [[1, 0], [0, 0]]))
    assert values[0] == pytest.approx(one)
    with pytest.raises(SettingError, match="is not one that the environment takes"):
        agent.q_value([3.0], {"left": 1})


def test_an_observation_that_is_not_finite_is_not_blamed_on_the_agent():
    agent = HGQN(Counting(), **TINY)
    for call in (agent.act, agent.predict, lambda given: agent.q_value(given, [0, 0])):
        with pytest.raises(SettingError, match=r"observation is nan at \[0\]; it must be finite"):
            call([np.nan])
    with pytest.raises(SettingError, match=r"observation is inf at \[1, 0\]"):
        agent.act([[0.0], [np.inf]])


def test_bins_that_change_nothing_are_reported():
    with pytest.warns(UserWarning, match=r"bins changes nothing: the action space .* has no Box"):
        HGQN(Counting(), **TINY, bins=7)


def test_what_to_do_without_an_action_is_stored_with_the_agent(tmp_path):
    agent = HGQN(Counting(), **TINY, no_action="default")
    agent.save(tmp_path / "agent.safetensors")
    loaded = HGQN.load(tmp_path / "agent.safetensors")
    assert loaded.interface.no_action == "default"
    np.testing.assert_array_equal(loaded.act([0.0], np.zeros(4)), [0, 0])
    assert HGQN.load(tmp_path / "agent.safetensors", Counting()).interface.no_action == "default"
    assert agent.set_env(Counting()).interface.no_action == "default"


def test_a_presets_orders_fit_the_action_space():
    gymnasium.register("Two-v0", Counting, max_episode_steps=9)
    try:
        args = ["Two-v0", "--preset", "atari", "--network", "mlp"]
        config = parse_train(args).with_env_edges()
        assert config.agent_config.hypergraph((2, 2)).rank == 2
        for typed in (["--rank", "3"], ["--orders", "1", "2", "3"]):
            asked = parse_train([*args, *typed]).with_env_edges().agent_config
            with pytest.raises(SettingError, match="orders 1 2 3: order 3 on 2 vertices"):
                asked.hypergraph((2, 2))
    finally:
        del gymnasium.registry["Two-v0"]
    with pytest.raises(SettingError, match=r"network cnn is for images, not for .*; choose mlp"):
        HGQN(Counting(), preset="atari")
    settings = {name: value for name, value in TINY.items() if name != "preset"}
    assert HGQN(Counting(), preset="atari", network="mlp", **settings).agent.hypergraph.rank == 2
