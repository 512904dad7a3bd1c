"""Names of vertices, from users, environments, robots and action spaces."""

import gymnasium
import pytest
from gymnasium import spaces

from hyperaction import HGQN
from hyperaction.envs.factoring import action_map
from hyperaction.envs.make import actions_of, make, make_env
from hyperaction.envs.names import problem_with
from hyperaction.errors import SettingError
from tests.envs.samples import BOX, Any

SQUARE = spaces.MultiDiscrete([2, 2])


class Named(Any):
    """An environment that names its vertices."""

    def __init__(self, names, actions=SQUARE):
        super().__init__(BOX, actions)
        self.action_names = names


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (SQUARE, ("0", "1")),
        (spaces.Discrete(3), ("0",)),
        (spaces.Dict(power=spaces.Discrete(2), arm=spaces.Box(-1, 1, (2,))), "power arm.0 arm.1"),
        (spaces.Tuple([spaces.Discrete(2), SQUARE]), "0 1.0 1.1"),
        (spaces.Tuple([SQUARE, spaces.Discrete(2)]), "0.0 0.1 1.0"),
        (spaces.Dict(a=spaces.Dict(b=spaces.Discrete(2)), c=spaces.Tuple([SQUARE])), "a.b c.0.0"),
        (
            spaces.Dict({"left arm": spaces.Discrete(2), "a,b=c": SQUARE}),
            "a_b_c.0 a_b_c.1 left_arm",
        ),
        (spaces.Dict({"a.0": spaces.Discrete(2), "a": SQUARE}), "0 1 2"),  # They were ambiguous.
    ],
)
def test_parts_of_a_space_name_their_vertices(space, names):
    given = names if isinstance(names, tuple) else tuple(names.split())
    found = action_map(space).names
    assert found[: len(given)] == given
    assert not problem_with(found, len(action_map(space).sizes))


def test_the_user_comes_first_then_the_environment_then_the_space():
    space = spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(3))
    assert actions_of("", Any(BOX, space)).names == ("a", "b")
    assert actions_of("", Named(["one", "the other"], space)).names == ("one", "the_other")
    assert actions_of("", Named(["x", "y"], space), names=("p", "q")).names == ("p", "q")
    vector = gymnasium.vector.SyncVectorEnv([lambda: Named(["x", "y"])] * 2)
    assert actions_of("", vector).names == ("x", "y")
    # An environment of one vertex may name its actions so.
    assert actions_of("", Named(["up", "down"], spaces.Discrete(2))).names == ("0",)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "1 names for 2 vertices; give one for each"),
        (["a", "a"], "'a' names two vertices; names are unique"),
        (["a", ""], "'' is no name: names are text without spaces, "),
        (["a", "b c"], "'b c' is no name"),
        (["1", "0"], "'1' names vertex 0; a number names only the vertex of that number"),
    ],
)
def test_names_that_do_not_fit_are_refused_in_one_line(names, message):
    with pytest.raises(SettingError, match=rf"^action_names: {message}"):
        actions_of("", Any(BOX, SQUARE), names=names)
    if "b c" not in names:  # Which becomes b_c.
        with pytest.raises(SettingError, match=f"^the environment's action_names: {message}"):
            actions_of("", Named(names))


def test_joints_and_actuators_are_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Where MuJoCo writes its log.
    cheetah = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")
    pytest.importorskip("pybullet_envs_gymnasium")
    assert make("HalfCheetahBulletEnv-v0").actions.names == cheetah
    assert actions_of("", make_env("HalfCheetahBulletEnv-v0"), real_actions=True).names == cheetah
    pytest.importorskip("mujoco")
    assert make("HalfCheetah-v5").actions.names == cheetah
    assert make("Ant-v5").actions.names[:2] == ("hip_4", "ankle_4")  # Actuators without names.


def test_a_joystick_is_named_where_it_is_the_action():
    pytest.importorskip("ale_py")
    assert make("ALE/Pong-v5").actions.names == ("vertical", "horizontal", "fire")
    assert make("ALE/Pong-v5", action_shape=(2, 9)).actions.names == ("0", "1")


def test_names_survive_saving_and_loading(tmp_path):
    env = Any(BOX, spaces.Dict(power=SQUARE, harvest=spaces.Discrete(3)))
    made = HGQN(env, edges=[("harvest",), ("power.0", 1)], hidden=(8,), learning_starts=64)
    assert made.config.edges == ("2", "0,1")
    made.save(tmp_path / "agent")
    again = HGQN.load(tmp_path / "agent")
    assert again.actions.names == ("power.0", "power.1", "harvest")
    assert again.agent.hypergraph.edges == ((2,), (0, 1))
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(again.act(observation))
