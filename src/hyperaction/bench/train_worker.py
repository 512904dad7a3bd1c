"""One measurement in its own process: `python -m hyperaction.bench.train_worker STARTED WHAT N`."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from hyperaction.bench.clock import Clock
from hyperaction.bench.peers import dqn_class
from hyperaction.bench.train import ENV, WARM_UP, paper_agent
from hyperaction.envs.make import make, make_env
from hyperaction.envs.vector import Single
from hyperaction.replay.ring import Ring
from hyperaction.training import compile_cache
from hyperaction.training.trainer import Trainer

NETWORK = [600, 400, 400]
"""The hidden layers of the paper's network, counting the heads as one."""


def start(started: float, rank: int) -> dict[str, float]:
    """Seconds from the command to the end of the first update, and the peak memory in GB."""
    compile_cache.use()
    env = Single(make(ENV))
    trainer = Trainer(paper_agent(rank, env, learning_starts=64), env, seed=0)
    while trainer.loss is None:
        trainer.advance()
    trainer.loss.block_until_ready()
    seconds = time.time() - started
    assert isinstance(trainer.replay.ring, Ring)
    for array in trainer.replay.ring.arrays:  # Memory is allocated when it is first written to.
        if array is not None:
            array[len(trainer.replay) :] = 1
    for _ in range(200):
        trainer.advance()
    scale = 1e9 if sys.platform == "darwin" else 1e6
    return {
        "seconds": seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale,
    }


def hyperaction(clock: Clock) -> None:
    """HGQN at rank 1."""
    env = Single(make(ENV))
    trainer = Trainer(paper_agent(1, env), env, seed=0)
    while clock.tick():
        trainer.advance()


class Thirty(gymnasium.ActionWrapper[Any, Any, Any]):
    """Thirty actions, as many as rank 1 has outputs: the least work for the DQN of a peer."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(30)
        random = np.random.default_rng(0)
        self.actions = random.choice(np.linspace(-1, 1, 5), (30, 6)).astype(np.float32)

    def action(self, action: Any) -> Any:
        """One of thirty joint actions."""
        return self.actions[int(action)]


def learn(module: str, clock: Clock) -> None:
    """The DQN of Stable-Baselines3 or SBX on the same work."""
    model = dqn_class(module)(
        "MlpPolicy",
        Thirty(make_env(ENV)),
        learning_rate=0.00001,
        buffer_size=100_000,
        learning_starts=WARM_UP,
        batch_size=64,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=2_000,
        exploration_fraction=0.0001,
        policy_kwargs={"net_arch": NETWORK},
    )
    model.learn(10_000_000, callback=lambda *_: clock.tick())


def tianshou(clock: Clock) -> None:
    """Tianshou's branching DQN on the same work."""
    import torch  # All of these are optional, so they are imported only if they are measured.
    from tianshou.algorithm.modelfree.bdqn import BDQN, BDQNPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, ReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import BranchingNet
    from tianshou.utils.torch_utils import policy_within_training_step

    torch.set_num_threads(1)
    env = gymnasium.wrappers.TransformAction(
        make_env(ENV),
        lambda action: np.linspace(-1, 1, 5, dtype=np.float32)[np.asarray(action, int)],
        gymnasium.spaces.MultiDiscrete([5] * 6),
    )
    shape = env.observation_space.shape
    assert shape is not None
    network = BranchingNet(
        state_shape=shape,
        num_branches=6,
        action_per_branch=5,
        common_hidden_sizes=NETWORK[:2],
        value_hidden_sizes=[70],
        action_hidden_sizes=[70],
    )
    policy = BDQNPolicy(
        model=network,
        action_space=env.action_space,
        observation_space=env.observation_space,
        eps_training=0.05,
    )
    algorithm = BDQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=0.00001),
        target_update_freq=2_000,
        is_double=False,
    )
    buffer = ReplayBuffer(100_000)
    collector = Collector(policy, DummyVectorEnv([lambda: env]), buffer, exploration_noise=True)
    collector.reset()
    with policy_within_training_step(policy):
        collector.collect(n_step=WARM_UP, random=True)
        for _ in range(WARM_UP):
            clock.tick()
        while clock.tick():
            collector.collect(n_step=1)
            algorithm.update(buffer=buffer, sample_size=64)


WORKS: dict[str, Callable[[Clock], None]] = {
    "Hyperaction": hyperaction,
    "Stable-Baselines3 DQN": partial(learn, "stable_baselines3"),
    "SBX DQN": partial(learn, "sbx"),
    "Tianshou BDQN": tianshou,
}


if __name__ == "__main__":
    _, began, what, number = sys.argv
    if what == "start":
        result = start(float(began), int(number))
    else:
        clock = Clock(WARM_UP + 200, int(number))
        WORKS[what](clock)
        result = {"steps_per_second": clock.speed}
    print(json.dumps(result))
