"""The breakdown of a step in an Atari game."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from hyperaction.agents.presets import AgentName, config_for
from hyperaction.agents.q_learning import QLearningAgent
from hyperaction.bench.clock import child, fastest, fastest_splits, timed, warm_up
from hyperaction.bench.peers import OnProgress, speeds
from hyperaction.bench.settings import BenchAtari
from hyperaction.bench.update import acting_share
from hyperaction.envs.atari import FRAME_SKIP
from hyperaction.envs.make import make, make_env
from hyperaction.envs.vector import Single
from hyperaction.replay.buffer import replay_bytes
from hyperaction.training.trainer import Trainer

WARM_UP = 400
REPLAY = 20_000
"""The replay size while measuring."""
WORKER = "hyperaction.bench.atari_worker"
AGENTS: tuple[AgentName, ...] = ("dqn", "hgqn")
PEERS = {"Stable-Baselines3 DQN": "stable_baselines3", "SBX DQN": "sbx"}


def run(settings: BenchAtari, on_progress: OnProgress) -> dict[str, Any]:
    """All measurements, ready for JSON."""
    on_progress("warming up")
    trainers = {agent: warm(agent, settings.game) for agent in AGENTS}
    split = partial(_split, steps=settings.steps)
    splits = fastest_splits(trainers, split, settings.repeats, on_progress)
    on_progress("acting and the emulator")
    acting = {
        agent: acting_share(trainer, 5 * settings.repeats) for agent, trainer in trainers.items()
    }
    emulator = _emulator(settings)
    peak = child(WORKER, settings.game, "memory", "0")
    # Without padding, as in the network of the peers.
    peers = speeds(
        WORKER, PEERS, settings.peer_steps, settings.peer_repeats, on_progress, settings.game
    )
    return {
        "game": settings.game,
        "split": {agent: _shares(splits[agent], acting[agent], emulator) for agent in AGENTS},
        "replay_gigabytes": replay_bytes(1_000_000, trainers["dqn"].env, 3) / 1e9,
        "other_gigabytes": peak["gigabytes"],
        "peers": peers,
    }


def paper_agent(name: AgentName, env: Single, **changes: Any) -> QLearningAgent:
    """An agent with the paper's settings for Atari, but an early start of learning."""
    soon = {"buffer_size": REPLAY, "learning_starts": WARM_UP, "exploration.decay_steps": 1}
    config = config_for(name, "atari", changes=soon | changes)
    return config.build(env.actions.sizes, env.observation_shape)


def warm(name: AgentName, game: str) -> Trainer:
    """A trainer that is past compilation."""
    env = Single(make(game))
    return warm_up(Trainer(paper_agent(name, env), env, seed=0), WARM_UP + 40)


def _split(trainer: Trainer, steps: int) -> dict[str, float]:
    env, compiled = trainer.env, trainer.compiled
    assert isinstance(env, Single)
    replay = [(trainer.replay, name) for name in ("add", "sample")]
    programs = [(compiled, name) for name in ("act", "update_and_act")]
    loop, seconds = timed(trainer.advance, steps, [(env.env.env, "step"), *replay, *programs])
    return {"loop": loop, **seconds}


def _emulator(settings: BenchAtari) -> float:
    """Seconds per step that the emulator alone takes."""
    game = make_env(settings.game)
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
    """The shares of a step, with emulator and acting separated; `rest` is Python."""
    both = split["update_and_act"]
    emulator = min(emulator, split["step"])
    parts = {
        "emulator": emulator,
        "preprocessing": split["step"] - emulator,
        "acting": split["act"] + acting * both,
        "sampling": split["add"] + split["sample"],
        "update": (1.0 - acting) * both,
    }
    shares = {name: seconds / split["loop"] for name, seconds in parts.items()}
    shares["rest"] = 1.0 - sum(shares.values())
    return {"milliseconds": 1e3 * split["loop"], **shares}
