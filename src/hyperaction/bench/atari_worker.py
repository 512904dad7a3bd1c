"""One measurement in its own process: `... atari_worker STARTED GAME WHAT N`."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from typing import Any

from hyperaction.bench.atari import REPLAY, WARM_UP, paper_agent, warm
from hyperaction.bench.clock import Clock
from hyperaction.bench.peers import dqn_class
from hyperaction.envs.make import make, make_env
from hyperaction.envs.vector import Single
from hyperaction.training.trainer import Trainer


def memory(game: str) -> dict[str, float]:
    """The peak memory of a trainer in GB, without its frames."""
    trainer = warm("hgqn", game)
    for _ in range(100):
        trainer.advance()
    scale = 1e9 if sys.platform == "darwin" else 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
    return {"gigabytes": peak - 84 * 84 * len(trainer.replay) / 1e9}


def hyperaction(game: str, clock: Clock) -> None:
    """DQN with the peers' network."""
    env = Single(make(game))
    trainer = Trainer(paper_agent("dqn", env, padding="valid"), env, seed=0)
    while clock.tick():
        trainer.advance()


def stable_baselines(game: str, clock: Clock) -> None:
    """Stable-Baselines3's DQN on the same work."""
    _learn("stable_baselines3", game, clock)


def sbx(game: str, clock: Clock) -> None:
    """SBX's DQN on the same work."""
    _learn("sbx", game, clock, policy_kwargs={"net_arch": [512]})


def _learn(module: str, game: str, clock: Clock, **options: Any) -> None:
    model = dqn_class(module)(
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
        **options,
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
