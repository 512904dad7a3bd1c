"""Environments from their ids: one, or several that are stepped together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from hyperaction.constraints import NoAction
from hyperaction.envs import atari, pybullet, suites
from hyperaction.envs.action_maps import ActionMap, Continuous, Discretised, renamed
from hyperaction.envs.bins import BinsLike
from hyperaction.envs.factoring import action_map, continuous
from hyperaction.envs.guard import Guard, Guarded, as_fault, unguarded
from hyperaction.envs.ids import game_of, is_pybullet, names_code, suite_of
from hyperaction.envs.names import from_env, from_user
from hyperaction.envs.roms import CartridgeError
from hyperaction.envs.suites import SuiteError
from hyperaction.envs.vector import Vector
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import unknown
from hyperaction.references import look_here


def make(
    name: str,
    *,
    bins: BinsLike = (5,),
    action_shape: Sequence[int] = (),
    action_names: Sequence[str] = (),
    real_actions: bool = False,
    max_episode_steps: int = 0,
    roms: str = "",
    constraints: Any = (),
    no_action: NoAction = "stop",
    plain_observations: bool = False,
    guard: Guard | None = None,
) -> Factored:
    """The environment of that id (or `module:Id`), its actions factored.

    Args:
        name: A Gymnasium id, or that of a suite, such as jumanji:BinPack-v2.
        bins: Sub-actions per dimension of a `Box` action space: one number, or one per dimension;
            of `Box` parts, those of each by name.
        action_shape: The sizes that a `Discrete` action space is the product of.
        action_names: The names of the vertices, instead of the environment's.
        real_actions: Leave a `Box` action space as it is, scaled to go from -1 to 1.
        max_episode_steps: The time limit; 0 is the environment's own.
        roms: A directory with cartridges of Atari games, instead of ale-py's.
        constraints: What is allowed in every state, besides what the environment says.
        no_action: What to do where a mask leaves no action.
        plain_observations: Whether observations are as agents of earlier versions take them.
        guard: What surrounds its calls; with one, its exceptions become faults.
    """
    env = make_env(name, max_episode_steps, guard, roms=roms)
    actions = actions_of(
        name, env, bins, action_shape, names=action_names, real_actions=real_actions
    )
    return Factored(env, actions, constraints, no_action, plain=plain_observations)


def actions_of(
    name: str,
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    bins: BinsLike = (5,),
    action_shape: Sequence[int] = (),
    *,
    names: Sequence[str] = (),
    real_actions: bool = False,
) -> ActionMap:
    """How the actions of an environment are factored, and what their vertices are called.

    Args:
        name: The environment's id, if it was made from one.
        env: The environment, or a vector of them.
        bins: As in `make`, like the other arguments.
        action_shape: As in `make`.
        names: As `action_names` in `make`.
        real_actions: As in `make`.
    """
    space = env.single_action_space if isinstance(env, VectorEnv) else env.action_space
    if real_actions:
        actions: ActionMap = continuous(space)
    elif game_of(name) and not action_shape:
        actions = atari.JOYSTICK
    else:
        actions = action_map(space, bins, action_shape)
    count = len(actions.sizes)
    if names:
        return renamed(actions, from_user(names, count))
    has_joints = isinstance(actions, Discretised | Continuous)
    return renamed(actions, from_env(env, count, has_joints=has_joints))


def make_env(
    name: str,
    max_episode_steps: int = 0,
    guard: Guard | None = None,
    render_mode: str | None = None,
    roms: str = "",
) -> gymnasium.Env[Any, Any]:
    """The environment of that id, or an error that says what was meant."""
    if guard is None:
        return _made(name, max_episode_steps, render_mode, roms)
    with guard("making"):
        return Guarded(_made(name, max_episode_steps, render_mode, roms), guard)


def _made(
    name: str, max_episode_steps: int, render_mode: str | None, roms: str
) -> gymnasium.Env[Any, Any]:
    if is_pybullet(name):
        pybullet.register(name)
    if game_of(name):
        atari.register(name)
    if names_code(name):
        look_here()
    try:
        if game_of(name):
            return atari.make_game(name, max_episode_steps, render_mode, roms)
        if suite_of(name):
            return suites.make(name, max_episode_steps, render_mode)
        rendering: dict[str, Any] = {"render_mode": render_mode} if render_mode else {}
        env = gymnasium.make(name, max_episode_steps=max_episode_steps or None, **rendering)
    except (CartridgeError, SuiteError):
        raise
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(f"environment {name}: {error}".replace("\n", " ")) from None
    except gymnasium.error.Error as error:
        game = atari.current_id(name)
        names = [game] if game else list(gymnasium.registry)
        message = unknown("environment", name, names, otherwise=str(error))
        raise ValueError(message.replace("\n", " ")) from None
    except ModuleNotFoundError as error:
        raise ValueError(f"environment {name}: {error}") from None
    except BaseException as error:
        raise as_fault(error, "making") from error
    return pybullet.QuietStart(env) if is_pybullet(name) else env


def make_vector(
    name: str,
    count: int,
    make_one: Callable[[Guard | None], Factored],
    guard: Guard | None = None,
    max_episode_steps: int = 0,
) -> Vector:
    """So many environments: games each in a thread of its own, Jumanji's in one compiled call,
    others one after the other.
    """
    one = make_one(guard)
    one.close()
    if game_of(name):
        games = atari.make_vector(name, count, max_episode_steps)
        return Vector(games, one.actions, one.frames, guard or unguarded, one.masks.always)
    always, no_action = one.masks.always, one.masks.no_action
    if suite_of(name) and (many := suites.make_vector(name, count, max_episode_steps)) is not None:
        return Vector(many, one.actions, one.frames, guard or unguarded, always, no_action)

    def make() -> gymnasium.Env[Any, Any]:
        return make_one(guard).env

    stepped = SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    return Vector(
        stepped,
        one.actions,
        one.frames,
        constraints=always,
        no_action=no_action,
        plain=one.plain,
    )
