"""Hyperedges that come from the robot of an environment."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hyperaction.agents.config import KINEMATIC, AgentConfig, QLearningConfig
from hyperaction.errors import SettingError

if TYPE_CHECKING:
    import gymnasium
    from gymnasium.vector import VectorEnv


def is_asked_for(config: AgentConfig) -> bool:
    """Whether an agent's hyperedges are those of a robot that is not known yet."""
    return isinstance(config, QLearningConfig) and KINEMATIC in config.edges


def with_kinematic_edges(
    config: AgentConfig,
    env: str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    num_vertices: int,
) -> tuple[AgentConfig, str]:
    """The configuration with a robot's hyperedges written out, where `edges` asks for them.

    Args:
        config: An agent's configuration.
        env: The environment; one given by its id is made, and closed.
        num_vertices: The vertices of its actions.

    Returns:
        The configuration, and the joints by vertex, for people; empty where nothing was asked.
    """
    if not is_asked_for(config):
        return config, ""
    assert isinstance(config, QLearningConfig)
    from hyperaction.envs.kinematics import robot_of

    if isinstance(env, str):
        from hyperaction.envs.make import make_env

        with closing(make_env(env)) as made:
            return with_kinematic_edges(config, made, num_vertices)
    robot = robot_of(_one(env), num_vertices)
    found = [",".join(map(str, edge)) for edge in robot.edges()]
    others = [edge for edge in config.edges if edge != KINEMATIC and edge not in found]
    joints = ", ".join(f"{vertex} {name}" for vertex, name in enumerate(robot.names))
    return replace(config, edges=(*found, *others)), joints


def _one(env: Any) -> gymnasium.Env[Any, Any]:
    """One environment of a vector that has them in this process; any other as it is."""
    if not hasattr(env, "single_action_space"):
        return env
    if not getattr(env, "envs", None):
        raise SettingError(
            f"`edges` kinematic: the environments of {type(env).__name__} are out of reach; pass "
            f"one environment, a SyncVectorEnv, or an id"
        )
    return env.envs[0]
