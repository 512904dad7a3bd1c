"""One measurement in a process of its own: `... atari_worker STARTED GAME WHAT N`."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from typing import Any

from hyperaction import environments
from hyperaction.bench.atari import REPLAY, WARM_UP, paper_agent, warm
from hyperaction.bench.clock import Clock
from hyperaction.environments import Single, make_env
from hyperaction.training import Training


def memory(game: str) -> dict[str, float]:
    """The most memory that a training takes in GB, but for the frames that it keeps."""
    training = warm("hgqn", game)
    for _ in range(100):
        training.advance()
    scale = 1e9 if sys.platform == "darwin" else 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
    return {"gigabytes": peak - 84 * 84 * len(training.ring) / 1e9}


def hyperaction(game: str, clock: Clock) -> None:
    """DQN with the peers' network."""
    env = Single(environments.make(game))
    training = Training(paper_agent("dqn", env, padding="valid"), env, seed=0)
    while clock.tick():
        training.advance()


def stable_baselines(game: str, clock: Clock) -> None:
    """Stable-Baselines3's DQN on the same work."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    _stable(DQN, game, clock)


def sbx(game: str, clock: Clock) -> None:
    """SBX's DQN on the same work."""
    from sbx import DQN

    _stable(DQN, game, clock, policy_kwargs={"net_arch": [512]})


def _stable(kind: Any, game: str, clock: Clock, **more: Any) -> None:
    model = kind(
        "CnnPolicy",
        make_env(game),
        learning_rate=0.00025,
        buffer_size=REPLAY,
        learning_starts=WARM_UP,
        batch_size=32,
        train_freq=4,
        gradient_steps=1,
        target_update_interval=8_000,
        exploration_fraction=0.0001,
        exploration_final_eps=0.01,
        **more,
    )
    model.learn(10_000_000, callback=lambda *_: clock.tick())


WORKS: dict[str, Callable[[str, Clock], None]] = {
    "Hyperaction": hyperaction,
    "Stable-Baselines3 DQN": stable_baselines,
    "SBX DQN": sbx,
}


if __name__ == "__main__":
    _, _, game, what, number = sys.argv
    if what == "memory":
        result = memory(game)
    else:
        clock = Clock(WARM_UP + 100, int(number))
        WORKS[what](game, clock)
        result = {"steps_per_second": clock.speed}
    print(json.dumps(result))
