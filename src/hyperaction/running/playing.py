"""A run's agent, played."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hyperaction import environments
from hyperaction.environments.faults import unguarded
from hyperaction.learners import LEARNERS
from hyperaction.options import run_config
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.training import Episode


def play(out: Path, episodes: int, seed: int, told: Callable[[Episode], None]) -> list[Episode]:
    """Episodes of a run's agent in its environment."""
    config = run_config(out)
    if not (out / AGENT_FILE).exists():
        raise ValueError(f"{out} holds no agent yet: one is kept with the first checkpoint")
    learner = LEARNERS[config["agent"]].load(out)
    limit, roms = config["max_episode_steps"], config["roms"]
    with closing(environments.make_env(config["env"], limit, unguarded, roms=roms)) as env:
        return learner.evaluate(env, episodes, seed, told)
