"""The hyperedges that a robot's joints suggest."""

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.envs.kinematics import ROOT, Link, Robot, robot_of, side_of
from hyperaction.envs.make import make_env

HALFCHEETAH = {
    "bfoot-bshin", "bshin-bthigh", "ffoot-fshin", "fshin-fthigh",  # along the legs
    "bthigh-fthigh",  # on the torso
}  # fmt: skip
WALKER = {
    "foot_joint-leg_joint", "leg_joint-thigh_joint", "foot_left_joint-leg_left_joint",
    "leg_left_joint-thigh_left_joint", "thigh_joint-thigh_left_joint",
    "leg_joint-leg_left_joint", "foot_joint-foot_left_joint",  # left and right
}  # fmt: skip
ANT = {
    "ankle_1-hip_1", "ankle_2-hip_2", "ankle_3-hip_3", "ankle_4-hip_4",
    "hip_1-hip_2", "hip_1-hip_3", "hip_1-hip_4", "hip_2-hip_3", "hip_2-hip_4", "hip_3-hip_4",
    "ankle_1-ankle_2", "ankle_3-ankle_4",  # the links say which legs are left and right
}  # fmt: skip
LEG = ("hip_x-{0}_hip_z", "hip_z-{0}_hip_y", "hip_y-{0}_knee", "shoulder1-{0}_shoulder2")
MIDDLE = {
    "abdomen_z-abdomen_y", "abdomen_y-abdomen_x", "abdomen_x-left_hip_x", "abdomen_x-right_hip_x",
    "abdomen_z-left_shoulder1", "abdomen_z-right_shoulder1",
}  # fmt: skip
BOTH = ("hip_x", "hip_z", "hip_y", "knee", "shoulder1", "shoulder2", "elbow")
HUMANOID = (
    MIDDLE
    | {f"{side}_{pair.format(side)}" for side in ("left", "right") for pair in LEG}
    | {f"{side}_shoulder2-{side}_elbow" for side in ("left", "right")}
    | {f"left_{name}-right_{name}" for name in BOTH}
)
ROBOTS = {
    "HalfCheetahBulletEnv-v0": HALFCHEETAH,
    "Walker2DBulletEnv-v0": WALKER,
    "AntBulletEnv-v0": ANT,
    "HumanoidBulletEnv-v0": HUMANOID,
    "ReacherBulletEnv-v0": {"joint0-joint1"},
    "HalfCheetah-v5": HALFCHEETAH,
    "Walker2d-v5": WALKER,
    "Ant-v5": ANT,
    "Humanoid-v5": HUMANOID,
    "Reacher-v5": {"joint0-joint1"},
}


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robots_hyperedges_are_the_same_in_both_simulators(name, tmp_path, monkeypatch):
    pytest.importorskip("pybullet_envs_gymnasium" if "Bullet" in name else "mujoco")
    monkeypatch.chdir(tmp_path)  # Where MuJoCo writes its log.
    env = make_env(name)
    size = env.action_space.shape[0]
    robot = robot_of(env, size)
    env.close()
    edges = robot.edges()
    assert edges[:size] == tuple((vertex,) for vertex in range(size))
    found = {frozenset(robot.names[vertex] for vertex in edge) for edge in edges[size:]}
    assert found == {frozenset(pair.split("-")) for pair in ROBOTS[name]}
    assert len(found) == len(edges) - size


@st.composite
def robots(draw):
    count = draw(st.integers(1, 9))
    parents = [draw(st.integers(ROOT if link == 0 else 0, link - 1)) for link in range(count)]
    joints = [draw(st.booleans()) and parent != ROOT for parent in parents]
    links = [Link("", p, "joint" if j else None) for p, j in zip(parents, joints, strict=True)]
    movable = [link for link in range(count) if joints[link]]
    driven = draw(st.lists(st.sampled_from(movable), max_size=5)) if movable else []
    return Robot(tuple(links), tuple(driven))


def path(robot, link):
    """The links from one to the root, the link itself first."""
    return [link, *(path(robot, robot.links[link].parent) if robot.links[link].parent >= 0 else [])]


@given(robots())
def test_neighbours_have_no_driven_joint_between_them(robot):
    expected = set()
    for vertex, link in enumerate(robot.driven):
        for other, above in enumerate(robot.driven):
            line = path(robot, link)[1:]
            if above in line and not set(line[: line.index(above)]) & set(robot.driven):
                expected.add((other, vertex))
    assert set(robot.neighbours()) == expected


@given(robots())
def test_siblings_hang_on_links_that_no_joint_separates(robot):
    def joints_between(one, other):
        apart = set(path(robot, one)) ^ set(path(robot, other))
        return [link for link in apart if robot.links[link].joint is not None]

    parents = [robot.links[link].parent for link in robot.driven]
    assert set(robot.siblings()) == {
        (one, other)
        for one in range(len(parents))
        for other in range(one + 1, len(parents))
        if not joints_between(parents[one], parents[other])
    }


@pytest.mark.parametrize(
    ("joints", "pairs"),
    [
        ("left_hip right_hip hip", {(0, 1)}),  # the third is in the middle
        ("LHipYaw RHipYaw", {(0, 1)}),
        ("leftKnee rightKnee leftHip", {(0, 1)}),
        ("FL_hip FR_hip RL_hip RR_hip", {(0, 1), (2, 3)}),
        ("LF_HAA RF_HAA LH_HAA RH_HAA", {(0, 1), (2, 3)}),
        ("hip_left hip leg", {(0, 1)}),
        ("r_wrist r_elbow", set()),
        ("left_hip left_knee right_ankle", set()),
        ("lower raise", set()),
        ("left_hip left_hip right_hip", set()),  # which one is meant nobody knows
    ],
)
def test_left_and_right_are_told_by_names(joints, pairs):
    names = joints.split()
    links = [Link("torso", ROOT, None), *(Link("", 0, name) for name in names)]
    robot = Robot(tuple(links), tuple(range(1, len(links))))
    assert set(robot.mirrored()) == pairs


def test_a_name_has_one_side():
    assert side_of("right_hip_l") == (("hip", "l"), "right")
    assert side_of("") == ((), "")


def test_vertices_that_are_not_the_joints_are_refused():
    pytest.importorskip("pybullet_envs_gymnasium")
    env = make_env("HalfCheetahBulletEnv-v0")
    message = "HalfCheetahBulletEnv-v0 has 7 vertices for 6 driven joints; it takes one for each"
    with pytest.raises(ValueError, match=message):
        robot_of(env, 7)


MOTORS = """
<mujoco><worldbody><body name="arm"><joint name="elbow"/><geom size="1"/></body></worldbody>
<tendon><fixed name="cable"><joint joint="elbow" coef="1"/></fixed></tendon>
<actuator><motor joint="elbow"/><motor {}/></actuator></mujoco>"""


def test_mujocos_actuators_drive_joints_or_are_refused():
    mujoco = pytest.importorskip("mujoco")

    class Arm(gymnasium.Env):
        def __init__(self, motor):
            self.model = mujoco.MjModel.from_xml_string(MOTORS.format(motor))

    twice = robot_of(Arm('joint="elbow"'), 2)
    assert (twice.names, twice.edges()) == (("elbow", "elbow"), ((0,), (1,), (0, 1)))
    with pytest.raises(ValueError, match="actuator 1 of Arm drives no joint of its own"):
        robot_of(Arm('tendon="cable"'), 2)
