"""What a first run learns: environments of several kinds with no setting given."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from hyperaction.api import HGQN
from hyperaction.bench.settings import BenchDefaults
from hyperaction.envs.make import make_env
from hyperaction.training.config import default_preset

EPISODES = 20
"""Episodes of an evaluation, and of random actions."""


class Machines(gymnasium.Env[Any, Any]):
    """Three machines that rest, work or work fast; two of them blow a fuse they share.

    A machine that is hot must not work fast. Observed is how hot each is.
    """

    observation_space = spaces.Box(0.0, 1.0, (3,), np.float32)
    action_space = spaces.MultiDiscrete([3, 3, 3])

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        allowed = np.ones((3, 3), bool)
        allowed[:, 2] = self.heat < 0.8
        return self.heat.astype(np.float32), {"action_mask": allowed.ravel()}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts an episode of twenty steps."""
        super().reset(seed=seed)
        self.heat, self.left = self.np_random.uniform(0.0, 1.0, 3), 20
        return self._seen()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Earns what the machines make, if the fuse holds."""
        blown = action[0] == action[1] == 2
        reward = -2.0 if blown else float(np.array([0.0, 1.0, 1.6])[action].sum())
        self.heat = np.clip(self.heat + np.array([-0.3, 0.1, 0.3])[action], 0.0, 1.0)
        self.left -= 1
        observation, info = self._seen()
        return observation, reward, False, self.left == 0, info


gymnasium.register("Machines-v0", "hyperaction.bench.defaults:Machines")

STEPS = {
    "CartPole-v1": 10_000,
    "Taxi-v4": 20_000,
    "Machines-v0": 3_000,
    "HalfCheetahBulletEnv-v0": 20_000,
}
"""The environments, and for how long an agent learns in each."""


class FirstRun(NamedTuple):
    """What an agent learned with no setting given."""

    env: str
    preset: str
    steps: int
    seconds: float
    random: float
    """The mean return of random actions that are allowed."""
    trained: float
    """The mean return of the agent's best actions, after learning."""


def run(settings: BenchDefaults, report: Callable[[str], None]) -> list[FirstRun]:
    """First runs in all environments, with each seed."""
    rows = []
    for env, steps in STEPS.items():
        for seed in range(settings.seeds):
            report(f"{env}, seed {seed}")
            rows.append(first_run(env, max(1, round(steps * settings.scale)), seed))
    return rows


def first_run(env: str, steps: int, seed: int) -> FirstRun:
    """Learns in an environment with no setting given."""
    agent = HGQN(env, seed=seed)
    random = _mean_return(env, agent, seed, greedy=False)
    start = time.perf_counter()
    agent.learn(steps)
    seconds = time.perf_counter() - start
    trained = _mean_return(env, agent, seed, greedy=True)
    return FirstRun(env, default_preset(agent.name, env), steps, seconds, random, trained)


def _mean_return(env: str, agent: HGQN, seed: int, *, greedy: bool) -> float:
    """Over some episodes; an agent that has not learned yet explores with random actions only."""
    made, total = make_env(env), 0.0
    for episode in range(EPISODES):
        observation, info = made.reset(seed=1000 * (seed + 1) + episode)
        over = False
        while not over:
            action, _ = agent.predict(
                observation, deterministic=greedy, mask=info.get("action_mask")
            )
            observation, reward, terminated, truncated, info = made.step(action)
            total, over = total + float(reward), bool(terminated or truncated)
    made.close()
    return total / EPISODES
