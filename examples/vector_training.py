"""Learning in several environments at once: one batch of actions for all of them.

A vector environment of Gymnasium goes in where a single one does, also `AsyncVectorEnv` with its
processes. Run it: `python examples/vector_training.py --num-envs 8 --steps 4000`.
"""

from __future__ import annotations

import argparse

import numpy as np
from gymnasium.vector import SyncVectorEnv
from locks import Locks

from hyperaction import HGQN, Callback


class Progress(Callback):
    """Prints the mean of the last twenty returns now and then, and stops at a good one."""

    def __init__(self, enough):
        self.enough, self.returns = enough, []

    def on_episode(self, trainer, episode):
        self.returns.append(episode.total)
        recent = float(np.mean(self.returns[-20:]))
        if len(self.returns) % 100 == 0:
            print(f"step {trainer.step:>6}  mean return {recent:.1f}")
        return len(self.returns) < 20 or recent < self.enough


def main(steps=4000, num_envs=8, seed=0):
    vector = SyncVectorEnv([Locks] * num_envs)
    settings = {"hidden": [64], "learning_starts": 200, "learning_rate": 2e-3, "discount": 0.5}
    agent = HGQN(vector, rank=2, seed=seed, **settings)
    progress = Progress(enough=28.0)
    agent.learn(steps, progress)  # Steps are counted over all environments.
    episodes = agent.evaluate(Locks(), episodes=20, greedy=True)
    result = float(np.mean([episode.total for episode in episodes]))
    print(f"mean return after {agent.step} steps: {result:.1f} of 30")
    # A batch of observations gives a batch of actions.
    observations, _ = vector.reset(seed=seed)
    actions = agent.act(observations)
    vector.close()
    return result, actions


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
