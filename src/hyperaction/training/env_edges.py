"""Hyperedges that only an environment can resolve: of vertices by name, and of a robot's joints."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hyperaction.agents.config import KINEMATIC, AgentConfig, QLearningConfig
from hyperaction.errors import SettingError, unknown
from hyperaction.hypergraph.checks import checked_edges

if TYPE_CHECKING:
    import gymnasium
    from gymnasium.vector import VectorEnv


def needs_env(config: AgentConfig) -> bool:
    """Whether hyperedges are given by names, of vertices or of all that a robot suggests."""
    return isinstance(config, QLearningConfig) and not all(map(_is_numbers, config.edges))


def with_env_edges(
    config: AgentConfig,
    env: str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    names: Sequence[str],
) -> AgentConfig:
    """The configuration with its hyperedges, if it gives any, as numbers of vertices.

    Args:
        config: An agent's configuration.
        env: The environment; one given by its id is made where it is needed, and closed.
        names: The names of the vertices of its actions.
    """
    if not isinstance(config, QLearningConfig) or not config.edges:
        return config
    given = [_numbered(edge, names) for edge in config.edges if edge != KINEMATIC]
    robots = _kinematic(env, len(names)) if KINEMATIC in config.edges else []
    edges = (*robots, *(edge for edge in given if edge not in robots))
    vertices = [[int(vertex) for vertex in edge.split(",")] for edge in edges]
    try:
        checked_edges((1,) * len(names), vertices, names)
    except ValueError as error:
        raise SettingError(f"`edges` {' '.join(config.edges)}: {error}") from None
    return replace(config, edges=edges)


def _is_numbers(edge: str) -> bool:
    return all(vertex.strip().isdecimal() for vertex in edge.split(","))


def _numbered(edge: str, names: Sequence[str]) -> str:
    """A hyperedge of vertices by name or number, such as hip,3, by numbers."""
    if _is_numbers(edge):
        return edge
    places = {name: str(place) for place, name in enumerate(names)}
    found = []
    for vertex in map(str.strip, edge.split(",")):
        if vertex not in places and not vertex.isdecimal():
            raise SettingError(f"`edges` {edge}: {unknown('vertex', vertex, places)}")
        found.append(places.get(vertex, vertex))
    return ",".join(found)


def _kinematic(env: Any, num_vertices: int) -> list[str]:
    from hyperaction.envs.kinematics import robot_of

    if isinstance(env, str):
        from hyperaction.envs.make import make_env

        with closing(make_env(env)) as made:
            return _kinematic(made, num_vertices)
    return [",".join(map(str, edge)) for edge in robot_of(_one(env), num_vertices).edges()]


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
