"""What stepping while updating gains: `python -m hyperaction.bench.overlap STARTED ENV STEPS`.

By the clock on all cores, as the processor's time shows no gain.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.util import find_spec

import jax

from hyperaction.agents.presets import config_for
from hyperaction.bench.clock import child, warm_up
from hyperaction.bench.peers import OnProgress
from hyperaction.envs.make import make
from hyperaction.envs.vector import Single
from hyperaction.training.runner import use_one_thread
from hyperaction.training.trainer import Trainer

WARM_UP = 1_000
ENVS = {
    "HalfCheetahBulletEnv-v0": "pybullet_envs_gymnasium",
    "Humanoid-v5": "mujoco",
    "hyperaction.bench.slow_env:Slow-v0": "gymnasium",
}
"""The environments, and the package that each needs."""


def gains(steps: int, repeats: int, on_progress: OnProgress) -> dict[str, dict[str, float]]:
    """Steps per second of a run, with overlap, and with the update finished before each step."""
    if not steps or (os.cpu_count() or 1) < 2:
        return {}
    results: dict[str, dict[str, float]] = {}
    for env, package in ENVS.items():
        if find_spec(package) is None:
            continue
        for repeat in range(repeats):
            on_progress(f"overlap in {env}, {repeat + 1} of {repeats}")
            speeds = child("hyperaction.bench.overlap", env, str(steps))
            results[env] = {
                name: max(speed, results.get(env, {}).get(name, 0.0))
                for name, speed in speeds.items()
            }
    return results


def _trainer(name: str, overlap: bool) -> Trainer:
    """HGQN at rank 1 with the paper's settings, but greedy and learning early."""
    env = Single(make(name))
    changes = {"learning_starts": WARM_UP, "exploration.decay_steps": 1, "overlap": overlap}
    config = config_for("hgqn", "physical", rank=1, changes=changes)
    agent = config.build(env.actions.sizes, env.observation_shape)
    return warm_up(Trainer(agent, env, seed=0), WARM_UP + 100)


def _speed(trainer: Trainer, steps: int) -> float:
    start = time.perf_counter()
    for _ in range(steps):
        trainer.advance()
    jax.block_until_ready(trainer.state.leaves)  # type: ignore[no-untyped-call]
    return steps / (time.perf_counter() - start)


def main() -> None:
    """Measures both in turns; prints JSON."""
    _, _, name, steps = sys.argv
    use_one_thread()  # As a run does.
    trainers = {"off": _trainer(name, overlap=False), "on": _trainer(name, overlap=True)}
    print(json.dumps({key: _speed(trainer, int(steps)) for key, trainer in trainers.items()}))


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    main()
