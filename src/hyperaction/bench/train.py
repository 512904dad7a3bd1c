"""Where the time of training goes, and how far it is from the floor."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction import environments
from hyperaction.agents.minibatch import Minibatch
from hyperaction.agents.optimisers import Adam
from hyperaction.agents.presets import preset
from hyperaction.agents.settings import ValueSettings
from hyperaction.agents.value import ValueAgent
from hyperaction.bench.clock import child, fastest, timed
from hyperaction.bench.settings import BenchTrain
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

Told = Callable[[str], None]


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
    floor = _floor(first, settings.repeats)
    acting = {rank: _acting(training, settings.repeats) for rank, training in trainings.items()}
    told("logging")
    logging = _logging(first)
    told("memory and the first update")
    starts = {rank: child(WORKER, "start", str(rank)) for rank in settings.ranks}
    peers = _peers(settings, told)
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


def _batch(training: Training) -> Minibatch:
    places = np.random.default_rng(0).integers(len(training.ring), size=64)
    return Minibatch(*training.ring.take(places), None)  # type: ignore[arg-type]


def _copied(training: Training) -> Any:
    return jax.tree.map(jnp.copy, training.state)


def _acting(training: Training, repeats: int) -> float:
    """The share of acting in the program that learns and acts."""
    programs, batch, env = training.programs, _batch(training), training.env
    states = [_copied(training), _copied(training)]

    def learn() -> Any:
        states[0], learned = programs.learn(states[0], batch)
        return learned

    def both() -> Any:
        states[1], _, action = programs.learn_and_act(states[1], batch, env.observation, env.mask)
        return action

    times = fastest({"learn": learn, "both": both}, 40 * repeats)
    return max(0.0, 1.0 - times["learn"] / times["both"])


def _floor(training: Training, repeats: int) -> dict[str, float]:
    """The update beside nothing but its matrix products and Adam's passes over the memory."""
    batch = _batch(training)
    online = training.state.tree.online
    weights = [leaf for leaf in jax.tree.leaves(online) if leaf.ndim > 1]
    random = np.random.default_rng(0)

    def noise(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(size=shape), jnp.float32)

    # For each weight: the two minibatches that go in, and the gradient that comes back.
    heads = [() if weight.ndim == 2 else weight.shape[:1] for weight in weights]
    sides = [
        (noise(*h, 64, w.shape[-1]), noise(*h, 64, w.shape[-1]), noise(*h, 64, w.shape[-2]))
        for w, h in zip(weights, heads, strict=True)
    ]

    def multiply(turned: bool, weights: Any, sides: Any) -> Any:
        found = []
        for place, (weight, (online_in, target_in, back)) in enumerate(
            zip(weights, sides, strict=True)
        ):
            down, up = (weight, weight.mT) if turned else (weight.mT, weight)
            gradient = online_in.mT @ back if turned else back.mT @ online_in
            found += [online_in @ down, target_in @ down, gradient]
            if place:  # Nothing asks for the observation's gradient.
                found.append(back @ up)
        return found

    products = jax.jit(multiply, static_argnums=0)
    turned_weights = [jnp.copy(weight.mT) for weight in weights]

    steps = Adam(0.00001, 0.0003125)
    gradient = jax.tree.map(lambda leaf: 0.01 * leaf, online)
    memory = [(jax.tree.map(jnp.copy, online), steps.start(online))]

    def traffic(parameters: Any, state: Any, gradient: Any) -> Any:
        return steps.update(parameters, gradient, state)

    compiled = jax.jit(traffic, donate_argnums=(0, 1))

    def adam_traffic() -> Any:
        memory[0] = compiled(*memory[0], gradient)
        return jax.tree.leaves(memory[0])[0]

    states = [_copied(training)]

    def update() -> Any:
        states[0], learned = training.programs.learn(states[0], batch)
        return learned.loss

    works = {
        "update": update,
        "products": lambda: products(False, weights, sides),
        "turned": lambda: products(True, turned_weights, sides),
        "adam": adam_traffic,
    }
    times = fastest(works, 40 * repeats)
    # Whichever way of storing the weights is faster.
    times["products"] = min(times["products"], times.pop("turned"))
    floor = times["products"] + times["adam"]
    return {
        **{f"{name} milliseconds": 1e3 * seconds for name, seconds in times.items()},
        "times floor": times["update"] / floor,
    }


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


def _peers(settings: BenchTrain, told: Told) -> dict[str, float]:
    """Steps per second of this library at rank 1 and of the peers that are installed."""
    there = [name for name, module in PEERS.items() if find_spec(module) is not None]
    if not there or not settings.peer_steps:
        return {}
    speeds: dict[str, float] = {}
    for repeat in range(settings.peer_repeats):
        for name in ["Hyperaction", *there]:
            told(f"{name}, {repeat + 1} of {settings.peer_repeats}")
            found = child(WORKER, name, str(settings.peer_steps))["steps_per_second"]
            speeds[name] = max(found, speeds.get(name, 0.0))
    return speeds
