"""Names of vertices: the user's, the environment's, the robot's or the action space's.

A vertex without any is called by its number, and only that vertex is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from typing import Any

import gymnasium

from hyperaction.envs import pybullet
from hyperaction.envs.ids import is_pybullet
from hyperaction.envs.kinematics import JOINT_TRANSMISSIONS, robot_of
from hyperaction.errors import SettingError

ATTRIBUTE = "action_names"
"""The attribute in which an environment may name the vertices of its actions."""

NOT_IN_NAMES = re.compile(r"[\s,=]+")
"""Joins names in options (hip,knee and arm=5), so no name has it."""


def numbers(count: int) -> tuple[str, ...]:
    """The names of vertices that have no others."""
    return tuple(map(str, range(count)))


def are_numbers(names: Sequence[str]) -> bool:
    """Whether vertices have no other names than their numbers."""
    return tuple(names) == numbers(len(names))


MAX_LISTED = 40
"""Names that a message lists."""


def in_words(names: Sequence[str]) -> str:
    """Numbers and names of vertices, for a message; empty where they have no names."""
    if are_numbers(names):
        return ""
    listed = [f"{vertex} {name}" for vertex, name in enumerate(names[:MAX_LISTED])]
    return ", ".join([*listed, "..."] if len(names) > MAX_LISTED else listed)


def problem_with(names: Sequence[str], count: int) -> str:
    """What is wrong with names of so many vertices; empty if nothing is."""
    if len(names) != count:
        return f"{len(names)} names for {count} vertices; give one for each"
    seen: set[str] = set()
    for vertex, name in enumerate(names):
        if name in seen:
            return f"{name!r} names two vertices; names are unique"
        if not isinstance(name, str) or not name or NOT_IN_NAMES.search(name):
            return f"{name!r} is no name: names are text without spaces, commas and ="
        if name.isdecimal() and name != str(vertex):
            return f"{name!r} names vertex {vertex}; a number names only the vertex of that number"
        seen.add(name)
    return ""


def of_space(names: Iterable[str]) -> tuple[str, ...]:
    """Names from the keys of an action space, or numbers where they would be ambiguous.

    A key that is the number of another vertex, as in a `Tuple`, is written as 1.0.
    """
    found = [
        f"{name}.0" if name.isdecimal() and name != str(vertex) else name
        for vertex, name in enumerate(map(_cleaned, names))
    ]
    return numbers(len(found)) if problem_with(found, len(found)) else tuple(found)


def from_user(names: Any, count: int) -> tuple[str, ...]:
    """The user's names of so many vertices."""
    given = (names,) if isinstance(names, str) else tuple(names)
    if problem := problem_with(given, count):
        raise SettingError(f"`action_names`: {problem}")
    return given


def from_env(env: Any, count: int, *, has_joints: bool) -> tuple[str, ...]:
    """The names that an environment gives so many vertices, or its robot's; empty if none.

    Args:
        env: One environment, or a vector of them.
        count: The number of vertices.
        has_joints: Whether each vertex may be a joint of a robot.
    """
    one = env.envs[0] if getattr(env, "envs", None) else env
    own = _attribute(env, one)
    if own is not None and not (count == 1 and len(own) != 1):  # Of one vertex: its actions'.
        names = tuple(_cleaned(str(name)) for name in own)
        if problem := problem_with(names, count):
            raise SettingError(
                f"the environment's action_names: {problem}, or others as `action_names`"
            )
        return names
    return _of_robot(one, count) if has_joints and isinstance(one, gymnasium.Env) else ()


def _attribute(env: Any, one: Any) -> list[Any] | None:
    if isinstance(one, gymnasium.Env) and one.has_wrapper_attr(ATTRIBUTE):
        found = one.get_wrapper_attr(ATTRIBUTE)
    else:
        found = getattr(env, ATTRIBUTE, None)
    return list(found) if isinstance(found, list | tuple) else None


def _of_robot(env: gymnasium.Env[Any, Any], count: int) -> tuple[str, ...]:
    inner: Any = env.unwrapped
    names: tuple[str, ...] = ()
    if hasattr(getattr(inner, "model", None), "actuator_trnid"):
        names = _mujoco_actuators(inner.model)
    elif getattr(getattr(inner, "robot", None), "ordered_joints", None):
        names = _joints(env, count)
    elif hasattr(inner, "robot") and env.spec is not None and is_pybullet(env.spec.id):
        names = _pybullet_joints(env.spec.id, count)
    names = tuple(map(_cleaned, names))
    return () if problem_with(names, count) else names


@cache
def _pybullet_joints(name: str, count: int) -> tuple[str, ...]:
    """The joints of a domain, which are not there before its first reset.

    They are those of another environment, as a second reset is not the same as the first.
    """
    pybullet.register(name)
    with closing(pybullet.QuietStart(gymnasium.make(name))) as env:
        return _joints(env, count)


def _joints(env: gymnasium.Env[Any, Any], count: int) -> tuple[str, ...]:
    try:
        return robot_of(env, count).names
    except SettingError:  # Not one joint for each vertex.
        return ()


def _mujoco_actuators(model: Any) -> tuple[str, ...]:
    """The names of actuators; of those without one, the joint's that they drive."""
    return tuple(
        model.actuator(actuator).name
        or (model.joint(int(target[0])).name if kind in JOINT_TRANSMISSIONS else "")
        for actuator, (kind, target) in enumerate(
            zip(model.actuator_trntype, model.actuator_trnid, strict=True)
        )
    )


def _cleaned(name: str) -> str:
    return NOT_IN_NAMES.sub("_", name.strip())
