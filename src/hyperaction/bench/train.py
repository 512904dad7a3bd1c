"""The breakdown of a training step, and its distance from the lower bound."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.presets import config_for
from hyperaction.agents.q_learning import QLearningAgent
from hyperaction.bench import overlap
from hyperaction.bench.clock import child, fastest_splits, timed, warm_up
from hyperaction.bench.peers import OnProgress, speeds
from hyperaction.bench.settings import BenchTrain
from hyperaction.bench.update import acting_share, times_floor
from hyperaction.envs.action_maps import described
from hyperaction.envs.make import make
from hyperaction.envs.vector import Single
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.state import split
from hyperaction.training.trainer import Trainer

ENV = "HalfCheetahBulletEnv-v0"
WARM_UP = 1_000
PHASE = 10_000
"""Steps between evaluations in a real run, over which the cost of logging is spread."""
PEERS = {
    "Stable-Baselines3 DQN": "stable_baselines3",
    "SBX DQN": "sbx",
    "Tianshou BDQN": "tianshou",
}

WORKER = "hyperaction.bench.train_worker"

LOGGED = 5
"""The number of phases whose logging is timed."""


def run(settings: BenchTrain, on_progress: OnProgress) -> dict[str, Any]:
    """All measurements, ready for JSON."""
    on_progress("warming up")
    trainers = {rank: _warm(rank) for rank in settings.ranks}
    split = partial(_split, steps=settings.steps)
    splits = fastest_splits(trainers, split, settings.repeats, on_progress)
    on_progress("the update and its floor")
    first = trainers[settings.ranks[0]]
    floor = times_floor(first, 40 * settings.repeats)
    acting = {
        rank: acting_share(trainer, 40 * settings.repeats) for rank, trainer in trainers.items()
    }
    on_progress("logging")
    logging = _logging(first)
    on_progress("memory and the first update")
    starts = {rank: _start(rank) for rank in settings.ranks}
    overlaps = overlap.gains(settings.overlap_steps, settings.peer_repeats, on_progress)
    peers = speeds(WORKER, PEERS, settings.peer_steps, settings.peer_repeats, on_progress)
    return {
        "split": {str(rank): _shares(splits[rank], acting[rank], logging) for rank in splits},
        "floor": floor,
        "starts": {str(rank): start for rank, start in starts.items()},
        "overlap": overlaps,
        "peers": peers,
    }


def _start(rank: int) -> dict[str, float]:
    """A first start, which compiles, and a second one, which finds what the first has compiled."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {"XDG_CACHE_HOME": folder}
        first, again = (child(WORKER, "start", str(rank), env=caches) for _ in range(2))
    return {**first, "seconds again": again["seconds"]}


def paper_agent(rank: int, env: Single, learning_starts: int = WARM_UP) -> QLearningAgent:
    """HGQN with the paper's settings, but greedy and with an early start of learning."""
    changes = {"learning_starts": learning_starts, "exploration.decay_steps": 1}
    config = config_for("hgqn", "physical", rank=rank, changes=changes)
    return config.build(env.actions.sizes, env.observation_shape)


def _warm(rank: int) -> Trainer:
    env = Single(make(ENV))
    return warm_up(Trainer(paper_agent(rank, env), env, seed=0), WARM_UP + 100)


def _split(trainer: Trainer, steps: int) -> dict[str, float]:
    """Seconds per step, in total and in the environment, the program and replay."""
    env, replay, compiled = trainer.env, trainer.replay, trainer.compiled
    assert isinstance(env, Single)
    places = [
        (env.env.env, "step"),
        (replay, "add"),
        (replay, "sample"),
        (compiled, "update_and_act"),
    ]
    loop, seconds = timed(trainer.advance, steps, places)
    return {
        "loop": loop,
        "environment": seconds["step"],
        "program": seconds["update_and_act"],
        "replay": seconds["add"] + seconds["sample"],
    }


def _shares(split: dict[str, float], acting: float, logging: float) -> dict[str, float]:
    """The shares of a step, with update and acting separated; `rest` is Python."""
    update = split["program"] * (1.0 - acting)
    loop = split["loop"] + logging
    parts = {
        "environment": split["environment"],
        "update": update,
        "acting": split["program"] - update,
        "replay": split["replay"],
        "logging": logging,
    }
    shares = {name: seconds / loop for name, seconds in parts.items()}
    shares["rest"] = 1.0 - sum(shares.values())
    return {"milliseconds": 1e3 * loop, **shares}


class _Phases(NamedTuple):
    """A replay whose phases are all alike."""

    added: int
    oldest: int
    phase: dict[str, NDArray[Any]]

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The transitions of a phase."""
        return self.phase


def _logging(trainer: Trainer) -> float:
    """Seconds per step for metrics, events, checkpoints and new environments."""
    metrics = dict.fromkeys(("step", "episodes", "return", "lowest", "highest", "length"), 1.0)
    replay = {
        name: np.resize(array, (PHASE, *array.shape[1:]))
        for name, array in trainer.replay.streams["replay"].between(0, 1_000).items()
    }
    with tempfile.TemporaryDirectory() as folder, Run(Path(folder) / "run", {}) as run:
        run.resume()
        checkpoints = Checkpoints(run.out)
        start = time.perf_counter()
        for phase in range(LOGGED):
            run.log("train", metrics)
            run.log("eval", metrics)
            state, arrays = split(trainer.state_dict())
            first = phase * PHASE
            about = {"actions": described(trainer.env.actions)}
            stream = _Phases(first + PHASE, max(0, first - 9 * PHASE), replay)
            checkpoints.write(state, arrays, {"replay": stream}, about)
            for _ in range(2):  # One for trainer, one for evaluation.
                env = make(ENV)
                env.reset(seed=0)
                env.close()
        return (time.perf_counter() - start) / LOGGED / PHASE
