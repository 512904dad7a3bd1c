"""One measurement in a process of its own: `python -m hyperaction.bench.worker STARTED WHAT N`."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from hyperaction import environments
from hyperaction.bench.clock import Clock
from hyperaction.bench.train import ENV, WARM_UP, paper_agent
from hyperaction.environments import Single, make_env
from hyperaction.replay import Ring
from hyperaction.training import Training

NETWORK = [600, 400, 400]
"""The hidden layers of the paper's network, the heads' being one."""


def start(started: float, rank: int) -> dict[str, float]:
    """Seconds from the command to the end of the first update, and the peak memory in GB."""
    env = Single(environments.make(ENV))
    training = Training(paper_agent(rank, env), env, seed=0)
    while training.loss is None:
        training.advance()
    training.loss.block_until_ready()
    seconds = time.time() - started
    assert isinstance(training.ring, Ring)
    for array in training.ring.arrays:  # Memory counts when it is first written to.
        if array is not None:
            array[len(training.ring) :] = 1
    for _ in range(200):
        training.advance()
    scale = 1e9 if sys.platform == "darwin" else 1e6
    return {
        "seconds": seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale,
    }


def hyperaction(clock: Clock) -> None:
    """HGQN at rank 1."""
    env = Single(environments.make(ENV))
    training = Training(paper_agent(1, env), env, seed=0)
    while clock.tick():
        training.advance()


class Thirty(gymnasium.ActionWrapper[Any, Any, Any]):
    """Thirty actions, as many as rank 1 has outputs: the least work a peer's DQN could have."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(30)
        random = np.random.default_rng(0)
        self.actions = random.choice(np.linspace(-1, 1, 5), (30, 6)).astype(np.float32)

    def action(self, action: Any) -> Any:
        """One of thirty joint actions."""
        return self.actions[int(action)]


def stable_baselines(clock: Clock) -> None:
    """Stable-Baselines3's DQN on the same work."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    _stable(DQN, clock)


def sbx(clock: Clock) -> None:
    """SBX's DQN on the same work."""
    from sbx import DQN

    _stable(DQN, clock)


def _stable(kind: Any, clock: Clock) -> None:
    model = kind(
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
    import torch
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
    "Stable-Baselines3 DQN": stable_baselines,
    "SBX DQN": sbx,
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
