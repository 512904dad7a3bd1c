"""Policies that look at nothing: random actions, and the best of some constant ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.joint_actions import JointActions
from hyperaction.baselines.episode import Policy, play
from hyperaction.envs.vector import Environments, Single
from hyperaction.envs.wrapper import Factored
from hyperaction.hypergraph import Hypergraph

CANDIDATES = 50
"""Constant actions that are tried, besides those that are the same in all vertices."""

STRIDE = 100
"""Steps between reports."""


class Random:
    """Random joint actions, evenly from all that are allowed.

    Args:
        make_env: Makes the environment.
        seed: Where the random numbers come from.
    """

    learns = False

    def __init__(self, make_env: Callable[[], Factored], seed: int) -> None:
        self._make_env, self._rng, self._seed = make_env, np.random.default_rng(seed), seed
        with closing(make_env()) as env:
            self._sizes = env.sizes
        self._actions = JointActions(Hypergraph.of_orders(self._sizes, [1]))

    def learn(self, steps: int) -> Iterator[int]:
        """Learns nothing, for so many steps."""
        yield from range(STRIDE, steps, STRIDE)
        yield steps

    def __call__(self, env: Environments) -> NDArray[np.int32]:
        """Any allowed action."""
        return self._actions.draw(self._rng, 1, env.mask)


class Constant(Random):
    """The constant joint action that had the best episodes; a random one where it is not allowed.

    Tries actions that are the same in all vertices and random ones, one episode each, then halves
    of those that did best, as long as there are steps.
    """

    learns = True
    _best: NDArray[np.int32]

    def learn(self, steps: int) -> Iterator[int]:
        """Tries candidates for so many steps."""
        same = [np.minimum(level, np.array(self._sizes) - 1) for level in range(max(self._sizes))]
        drawn = self._rng.integers(self._sizes, size=(CANDIDATES, len(self._sizes)))
        rows = np.unique(np.array([*same, *drawn], np.int32), axis=0)
        totals, played = np.zeros(len(rows)), np.zeros(len(rows))
        self._best, left = rows[0], np.arange(len(rows))
        done = 0
        with closing(self._make_env()) as made:
            env = Single(made)
            env.reset(self._seed)
            while done < steps:
                for row in left:
                    episode = play(env, self._held(rows[row]))
                    totals[row], played[row] = totals[row] + episode.total, played[row] + 1
                    done += episode.length
                    means = np.where(played > 0, totals / np.maximum(played, 1), -np.inf)
                    self._best = rows[np.argmax(means)]
                    yield min(done, steps)
                    if done >= steps:
                        return
                left = left[np.argsort(-means[left], kind="stable")][: max(1, len(left) // 2)]

    def __call__(self, env: Environments) -> NDArray[np.int32]:
        """The best action so far."""
        return self._held(self._best)(env)

    def _held(self, action: NDArray[np.int32]) -> Policy:
        def policy(env: Environments) -> NDArray[np.int32]:
            is_allowed = self._actions.allows(action[None], env.mask)[0]
            return action[None] if is_allowed else self._actions.draw(self._rng, 1, env.mask)

        return policy
