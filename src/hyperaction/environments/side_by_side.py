"""Several environments of one id, stepped together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hyperaction.environments import atari
from hyperaction.environments.factored import Factored
from hyperaction.environments.faults import Guard, unguarded
from hyperaction.environments.several import Vector


def make_several(
    name: str,
    count: int,
    make_one: Callable[[Guard | None], Factored],
    guard: Guard | None = None,
    max_episode_steps: int = 0,
) -> Vector:
    """So many environments: games each in a thread of its own, others one after the other."""
    one = make_one(guard)
    one.close()
    if atari.is_atari(name):
        games = atari.make_games(name, count, max_episode_steps)
        return Vector(games, one.actions, one.frames, guard or unguarded)

    def make() -> gymnasium.Env[Any, Any]:
        return make_one(guard).env

    together = SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    return Vector(together, one.actions, one.frames)
