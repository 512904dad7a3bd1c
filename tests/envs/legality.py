"""Counts the actions that environments of real suites do not allow, by their own word.

python -m tests.envs.legality --steps 10000
python -m tests.envs.legality --steps 10000 --env jumanji:Tetris-v0 --agent bdqn
"""

import argparse
import time

import gymnasium
import numpy as np
from pyRDDLGym.core.debug.exception import RDDLInvalidActionError

import hyperaction
from hyperaction.envs import suites

ENVS = (
    "jumanji:Tetris-v0",
    "jumanji:BinPack-v2",
    "jumanji:Sudoku-v0",
    "jumanji:Minesweeper-v0",
    "jumanji:JobShop-v0",
    "rddl:SysAdmin_MDP_ippc2011/1",
)
AGENTS = {
    "rank 1": lambda env, **settings: hyperaction.HGQN(env, rank=1, **settings),
    "rank 2": lambda env, **settings: hyperaction.HGQN(env, rank=2, **settings),
    "bdqn": hyperaction.BDQN,
}
SMALL = {
    "network.hidden": (32,),
    "heads.total_width": 32,
    "batch_size": 16,
    "buffer_size": 2_000,
    "learning_starts": 100,
    "train_frequency": 8,
    "exploration.final": 0.5,
    "exploration.decay_steps": 1,
}
"""Small and quick; half of the actions are greedy, the others random."""


class Counted(gymnasium.Wrapper):
    """An adapter's environment that counts steps and those that its suite does not allow."""

    def __init__(self, env):
        super().__init__(env)
        self.steps = self.illegal = 0
        self.mask = None

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.mask = observation.get("action_mask")
        return observation, info

    def step(self, action):
        self.steps += 1
        self.illegal += not self._allows(action)
        observation, *rest = self.env.step(action)
        self.mask = observation.get("action_mask")
        return observation, *rest

    def _allows(self, action):
        rddl = getattr(self.unwrapped, "rddl", None)
        if rddl is None:
            return _in_mask(self.mask, action)
        try:
            sampler = rddl.sampler
            sampler.check_default_action_count(sampler.prepare_actions_for_sim(action), False)
        except RDDLInvalidActionError:
            return False
        return True


def _in_mask(mask, action):
    """Whether Jumanji's mask, over all dimensions or a row for each, allows an action."""
    if mask.ndim == 2 and mask.shape[0] == len(action) > 2:
        return bool(mask[np.arange(len(action)), action].all())
    return bool(mask[tuple(action)])


def count(name, agent, steps, seed=0):
    """Steps of an agent that explores and learns from them, and how many were not allowed."""
    env = Counted(suites.make(name))
    AGENTS[agent](env, seed=seed, **SMALL).learn(steps)
    return env


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--env", choices=ENVS, nargs="+", default=ENVS)
    parser.add_argument("--agent", choices=AGENTS, nargs="+", default=list(AGENTS))
    options = parser.parse_args()
    for name in options.env:
        for agent in options.agent:
            started = time.perf_counter()
            env = count(name, agent, options.steps)
            seconds = time.perf_counter() - started
            print(
                f"{name:30} {agent:7} {env.illegal} illegal of {env.steps:,} ({seconds:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
