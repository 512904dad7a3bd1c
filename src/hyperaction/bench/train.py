"""Where the time of training goes, and how far it is from the floor."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hyperaction import environments
from hyperaction.agents.presets import preset
from hyperaction.agents.settings import ValueSettings
from hyperaction.agents.value import ValueAgent
from hyperaction.bench.clock import child, timed
from hyperaction.bench.peers import Told, speeds
from hyperaction.bench.settings import BenchTrain
from hyperaction.bench.update import acting_share, times_floor
from hyperaction.checkpointing import snapshot
from hyperaction.environments import Single
from hyperaction.environments.actions import described
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints, Growth
from hyperaction.training import Training

ENV = "HalfCheetahBulletEnv-v0"
WARM_UP = 1_000
PHASE = 10_000
"""Steps between evaluations in a real run: what is logged then is spread over them."""
PEERS = {
    "Stable-Baselines3 DQN": "stable_baselines3",
    "SBX DQN": "sbx",
    "Tianshou BDQN": "tianshou",
}

WORKER = "hyperaction.bench.worker"

LOGGED = 5
"""Phases whose logging is timed."""


def run(settings: BenchTrain, told: Told) -> dict[str, Any]:
    """All measurements, ready for JSON."""
    told("warming up")
    trainings = {rank: _warm(rank) for rank in settings.ranks}
    splits: dict[int, dict[str, float]] = {}
    for repeat in range(settings.repeats):
        told(f"steps, {repeat + 1} of {settings.repeats}")
        for rank, training in trainings.items():
            found = _split(training, settings.steps)
            if rank not in splits or found["loop"] < splits[rank]["loop"]:
                splits[rank] = found
    told("the update and its floor")
    first = trainings[settings.ranks[0]]
    floor = times_floor(first, 40 * settings.repeats)
    acting = {
        rank: acting_share(training, 40 * settings.repeats) for rank, training in trainings.items()
    }
    told("logging")
    logging = _logging(first)
    told("memory and the first update")
    starts = {rank: child(WORKER, "start", str(rank)) for rank in settings.ranks}
    peers = speeds(WORKER, PEERS, settings.peer_steps, settings.peer_repeats, told)
    return {
        "split": {str(rank): _shares(splits[rank], acting[rank], logging) for rank in splits},
        "floor": floor,
        "starts": {str(rank): start for rank, start in starts.items()},
        "peers": peers,
    }


def paper_agent(rank: int, env: Single) -> ValueAgent:
    """HGQN with the paper's settings, but learning soon and exploring little."""
    settings = preset("hgqn", "physical")
    assert isinstance(settings, ValueSettings)
    orders = tuple(range(1, rank + 1))
    settings = replace(settings, orders=orders, replay_start=WARM_UP, epsilon_steps=1)
    return ValueAgent(settings, settings.hypergraph(env.actions.sizes), env.observation_shape)


def _warm(rank: int) -> Training:
    env = Single(environments.make(ENV))
    training = Training(paper_agent(rank, env), env, seed=0)
    while training.step < WARM_UP + 100:
        training.advance()
    return training


def _split(training: Training, steps: int) -> dict[str, float]:
    """Seconds per step, and what of them the environment, the program and replay take."""
    env, ring, programs = training.env, training.ring, training.programs
    assert isinstance(env, Single)
    places = [(env.env.env, "step"), (ring, "add"), (ring, "take"), (programs, "learn_and_act")]
    loop, seconds = timed(training.advance, steps, places)
    return {
        "loop": loop,
        "environment": seconds["step"],
        "program": seconds["learn_and_act"],
        "replay": seconds["add"] + seconds["take"],
    }


def _shares(split: dict[str, float], acting: float, logging: float) -> dict[str, float]:
    """The split with the update and acting told apart; `rest` is Python."""
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


def _logging(training: Training) -> float:
    """Seconds per step that metrics, events, checkpoints and new environments take in a run."""
    metrics = dict.fromkeys(("step", "episodes", "return", "lowest", "highest", "length"), 1.0)
    replay = {
        name: np.resize(array, (PHASE, *array.shape[1:]))
        for name, array in training.ring.streams["replay"].between(0, 1_000).items()
    }
    with tempfile.TemporaryDirectory() as place, Run(Path(place) / "run", {}) as run:
        run.go_on(0, 0)
        checkpoints = Checkpoints(run.out)
        start = time.perf_counter()
        for phase in range(LOGGED):
            run.log("train", metrics)
            run.log("eval", metrics)
            state, arrays = snapshot(training)
            first = phase * PHASE
            state["agent"] = {"actions": described(training.env.actions)}
            growth = Growth(first, first + PHASE, first - 10 * PHASE, lambda *_: replay)
            checkpoints.write(state, arrays, {"replay": growth})
            for _ in range(2):  # One to train in, one to be judged in.
                env = environments.make(ENV)
                env.reset(seed=0)
                env.close()
        return (time.perf_counter() - start) / LOGGED / PHASE
