"""Where the time of a step in an Atari game goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hyperaction import environments
from hyperaction.agents.presets import AgentName, preset
from hyperaction.agents.settings import ValueSettings
from hyperaction.agents.value import ValueAgent
from hyperaction.bench.clock import child, fastest, timed
from hyperaction.bench.peers import Told, speeds
from hyperaction.bench.settings import BenchAtari
from hyperaction.bench.update import acting_share
from hyperaction.environments import Single
from hyperaction.environments.atari import FRAME_SKIP
from hyperaction.replay import replay_bytes
from hyperaction.training import Training

WARM_UP = 400
REPLAY = 20_000
"""Frames that are kept while measuring."""
WORKER = "hyperaction.bench.atari_worker"
AGENTS: tuple[AgentName, ...] = ("dqn", "hgqn")
PEERS = {"Stable-Baselines3 DQN": "stable_baselines3", "SBX DQN": "sbx"}


def run(settings: BenchAtari, told: Told) -> dict[str, Any]:
    """All measurements, ready for JSON."""
    told("warming up")
    trainings = {agent: warm(agent, settings.game) for agent in AGENTS}
    splits: dict[str, dict[str, float]] = {}
    for repeat in range(settings.repeats):
        told(f"steps, {repeat + 1} of {settings.repeats}")
        for agent, training in trainings.items():
            found = _split(training, settings.steps)
            if agent not in splits or found["loop"] < splits[agent]["loop"]:
                splits[agent] = found
    told("acting and the emulator")
    acting = {
        agent: acting_share(training, 5 * settings.repeats) for agent, training in trainings.items()
    }
    emulator = _emulator(settings)
    peak = child(WORKER, settings.game, "memory", "0")
    # The peers' network pads no borders, so that ours does not either there.
    peers = speeds(WORKER, PEERS, settings.peer_steps, settings.peer_repeats, told, settings.game)
    return {
        "game": settings.game,
        "split": {agent: _shares(splits[agent], acting[agent], emulator) for agent in AGENTS},
        "replay_gigabytes": replay_bytes(1_000_000, trainings["dqn"].env, 3) / 1e9,
        "other_gigabytes": peak["gigabytes"],
        "peers": peers,
    }


def paper_agent(name: AgentName, env: Single, **changes: Any) -> ValueAgent:
    """An agent with the paper's settings for Atari, but learning soon and exploring little."""
    settings = preset(name, "atari")
    assert isinstance(settings, ValueSettings)
    soon = {"replay_size": REPLAY, "replay_start": WARM_UP, "epsilon_steps": 1}
    settings = replace(settings, **soon | changes)
    return ValueAgent(settings, settings.hypergraph(env.actions.sizes), env.observation_shape)


def warm(name: AgentName, game: str) -> Training:
    """A training whose programs are compiled."""
    env = Single(environments.make(game))
    training = Training(paper_agent(name, env), env, seed=0)
    while training.step < WARM_UP + 40:
        training.advance()
    return training


def _split(training: Training, steps: int) -> dict[str, float]:
    env, ring, programs = training.env, training.ring, training.programs
    assert isinstance(env, Single)
    replay = [(ring, name) for name in ("keep", "add", "draw", "take")]
    compiled = [(programs, name) for name in ("act", "learn_and_act")]
    loop, seconds = timed(training.advance, steps, [(env.env.env, "step"), *replay, *compiled])
    return {"loop": loop, **seconds}


def _emulator(settings: BenchAtari) -> float:
    """Seconds that the emulator itself takes for the frames of one step."""
    game = environments.make_env(settings.game)
    game.reset(seed=0)
    ale: Any = game.unwrapped.ale  # type: ignore[attr-defined]
    actions = ale.getLegalActionSet()
    random = np.random.default_rng(0)

    def play() -> None:
        for number in random.integers(len(actions), size=settings.steps):
            for _ in range(FRAME_SKIP):
                ale.act(actions[number])
            if ale.game_over():
                ale.reset_game()

    return fastest({"emulator": play}, settings.repeats)["emulator"] / settings.steps


def _shares(split: dict[str, float], acting: float, emulator: float) -> dict[str, float]:
    """The split with the emulator and acting told apart; `rest` is Python."""
    both = split["learn_and_act"]
    emulator = min(emulator, split["step"])
    parts = {
        "emulator": emulator,
        "preprocessing": split["step"] - emulator,
        "acting": split["act"] + acting * both,
        "sampling": split["keep"] + split["add"] + split["draw"] + split["take"],
        "update": (1.0 - acting) * both,
    }
    shares = {name: seconds / split["loop"] for name, seconds in parts.items()}
    shares["rest"] = 1.0 - sum(shares.values())
    return {"milliseconds": 1e3 * split["loop"], **shares}
