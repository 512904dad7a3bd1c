"""A robot's joints and the hyperedges that its kinematic tree suggests.

Simulators describe a robot as links (bodies), each with a parent and the joint that moves it. Links
without a joint are welded to their parent. The joints that actions drive, one per vertex, are
neighbours where no other driven joint is between them on the way to the root, and siblings where
they hang on the same rigid part.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import gymnasium

from hyperaction.errors import SettingError

Edge = tuple[int, ...]

ROOT = -1
"""The parent of a link that hangs on no other."""


class Link(NamedTuple):
    """A rigid body of a robot."""

    name: str
    parent: int
    joint: str | None
    """The joint that moves it against its parent; None where it is welded to it."""


class Robot(NamedTuple):
    """Links, parents before children, and the link that each vertex moves by its joint."""

    links: tuple[Link, ...]
    driven: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The joint of each vertex."""
        return tuple(self.links[link].joint or "" for link in self.driven)

    def edges(self) -> tuple[Edge, ...]:
        """Every vertex, and the pairs of neighbours, siblings, and left and right."""
        pairs = {*self.neighbours(), *self.siblings(), *self.mirrored()}
        singles = [(vertex,) for vertex in range(len(self.driven))]
        return (*singles, *sorted(tuple(sorted(pair)) for pair in pairs))

    def neighbours(self) -> Iterator[tuple[int, int]]:
        """Vertices with the next one towards the root."""
        for vertex, link in enumerate(self.driven):
            for above in self._ancestors(link):
                found = [other for other, driven in enumerate(self.driven) if driven == above]
                if found:
                    yield from ((other, vertex) for other in found)
                    break

    def siblings(self) -> Iterator[tuple[int, int]]:
        """Vertices whose joints hang on the same rigid part."""
        parts = [self._part(self.links[link].parent) for link in self.driven]
        for one, other in combinations(range(len(parts)), 2):
            if parts[one] == parts[other]:
                yield one, other

    def mirrored(self) -> Iterator[tuple[int, int]]:
        """Vertices whose names differ only in left and right; or that hang alike on such links.

        The names looked at are the joint's and those of the links towards the root, as far as the
        first that names a side. A name without a side is the opposite of one with a side where no
        other is.
        """
        groups: dict[Any, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for vertex, link in enumerate(self.driven):
            above = [self.links[each].name for each in (link, *self._ancestors(link))]
            for level, name in enumerate((self.names[vertex], *above)):
                rest, side = side_of(name)
                key = (level, rest, len(above) if level else 0)
                groups[key][side].append(vertex)
                if side:
                    break
        for sides in groups.values():
            given = [sides[side] for side in ("left", "right") if side in sides]
            if len(given) == 1 and "" in sides:
                given.append(sides[""])
            if len(given) == 2 and all(len(vertices) == 1 for vertices in given):
                yield min(given)[0], max(given)[0]

    def _ancestors(self, link: int) -> Iterator[int]:
        while (link := self.links[link].parent) != ROOT:
            yield link

    def _part(self, link: int) -> int:
        """The link that a link is welded to, if any, nearest to the root."""
        while self.links[link].joint is None and self.links[link].parent != ROOT:
            link = self.links[link].parent
        return link


SIDES = {"left": ("", "left"), "l": ("", "left"), "right": ("", "right"), "r": ("", "right")}
for _end in "fhb":  # As quadrupeds' legs are named: front, hind and back, left and right.
    for _letter, _side in (("l", "left"), ("r", "right")):
        SIDES |= {_end + _letter: (_end, _side), _letter + _end: (_end, _side)}
SIDES |= {"rl": ("r", "left"), "rr": ("r", "right")}
"""Words that name a side: what else they say, and the side."""


def side_of(name: str) -> tuple[tuple[str, ...], str]:
    """A name's words without the one that names a side, and that side, empty for none."""
    rest, side = [], ""
    for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name):
        other = word.lower()
        if not side and other in SIDES:
            other, side = SIDES[other]
        if other:
            rest.append(other)
    return tuple(rest), side


def robot_of(env: gymnasium.Env[Any, Any], num_vertices: int) -> Robot:
    """The robot of an environment whose actions drive so many joints, or an error.

    A PyBullet domain that was not reset yet is, for its robot is loaded then.
    """
    inner: Any = env.unwrapped
    name = env.spec.id if env.spec else type(inner).__name__
    if hasattr(getattr(inner, "model", None), "actuator_trnid"):
        robot = _mujoco_robot(inner.model, name)
    elif hasattr(getattr(inner, "robot", None), "ordered_joints"):
        if not inner.robot.ordered_joints:
            env.reset(seed=0)
        robot = _pybullet_robot(inner.robot, num_vertices)
    else:
        raise SettingError(
            f"`edges` kinematic: {name} has no robot with joints; Gymnasium's MuJoCo environments "
            f"(such as Ant-v5) and the PyBullet domains (such as AntBulletEnv-v0) have"
        )
    if len(robot.driven) != num_vertices:
        raise SettingError(
            f"`edges` kinematic: {name} has {num_vertices} vertices for {len(robot.driven)} driven "
            f"joints; it takes one for each"
        )
    return robot


JOINT_TRANSMISSIONS = (0, 1)
"""How an actuator of MuJoCo acts on one joint: mjTRN_JOINT and mjTRN_JOINTINPARENT."""


def _mujoco_robot(model: Any, name: str) -> Robot:
    """MuJoCo's bodies; one with several joints is as many links in a row, as in PyBullet."""
    links: list[Link] = []
    last_link: list[int] = []
    moved_by: dict[int, int] = {}
    for body in range(model.nbody):
        parent = last_link[model.body_parentid[body]] if body else ROOT
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for joint in range(first, first + count) if count else (None,):
            joint_name = None if joint is None else model.joint(joint).name
            links.append(Link(model.body(body).name, parent, joint_name))
            parent = len(links) - 1
            if joint is not None:
                moved_by[joint] = parent
        last_link.append(parent)
    for actuator, kind in enumerate(model.actuator_trntype):
        if kind not in JOINT_TRANSMISSIONS:
            raise SettingError(
                f"`edges` kinematic: actuator {actuator} of {name} drives no joint of its own "
                f"(tendons, sites and slider-cranks have no place in the tree); give the hyperedges"
            )
    return Robot(tuple(links), tuple(moved_by[int(row[0])] for row in model.actuator_trnid))


def _pybullet_robot(robot: Any, num_vertices: int) -> Robot:
    """PyBullet's links; the first of its joints that are not welded are driven."""
    joints = (getattr(robot, "motors", None) or robot.ordered_joints)[:num_vertices]
    links: list[Link] = []
    starts: dict[int, int] = {}
    for body in dict.fromkeys(_body_of(joint) for joint in joints):
        starts[body] = len(links)
        links.append(Link(_text(robot._p.getBodyInfo(body)[0]), ROOT, None))
        for number in range(robot._p.getNumJoints(body)):
            info = robot._p.getJointInfo(body, number)
            moves = info[2] != robot._p.JOINT_FIXED
            parent = starts[body] + 1 + info[16]
            links.append(Link(_text(info[12]), parent, _text(info[1]) if moves else None))
    return Robot(
        tuple(links), tuple(starts[_body_of(joint)] + 1 + joint.jointIndex for joint in joints)
    )


def _body_of(joint: Any) -> int:
    return int(joint.bodies[joint.bodyIndex])


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
