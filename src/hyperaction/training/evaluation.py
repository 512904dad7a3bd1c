"""An agent's judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.environments import Environments
from hyperaction.training.learning import Episode
from hyperaction.training.programs import Agent, Flat, Programs, allowed


class Evaluation:
    """An agent's judge, in an environment of its own.

    What is made is made anew for every evaluation, as for every phase of training.
    """

    def __init__(
        self, agent: Agent, programs: Programs, make_env: Callable[[], Environments]
    ) -> None:
        self.agent, self.programs, self.make_env = agent, programs, make_env

    def begin(self, seed: int) -> None:
        """Whoever is judged next is judged with this seed."""
        self.env = self.make_env()
        self.env.reset(seed)
        self.explorer = self.agent.explorer(self.env.count, np.random.default_rng(seed))

    def steps(
        self,
        state: Flat,
        least: int,
        stopping: Callable[[], bool] = lambda: False,
        longest: int | None = None,
    ) -> list[Episode] | None:
        """Whole episodes of at least so many steps together; nothing if it is stopped before."""
        episodes: list[Episode] = []
        while sum(episode.length for episode in episodes) < least:
            episode = self.episode(state, stopping, longest)
            if episode is None:
                self.env.close()
                return None
            episodes.append(episode)
        self.env.close()
        return episodes

    def episode(
        self,
        state: Flat,
        stopping: Callable[[], bool] = lambda: False,
        longest: int | None = None,
    ) -> Episode | None:
        """One episode of the almost greedy policy; nothing if it is stopped before."""
        env, total, length = self.env, 0.0, 0

        def greedy() -> NDArray[Any]:
            return allowed(np.asarray(self.programs.act(state, env.observation, env.mask)))

        while not stopping():
            found = env.step(self.explorer.evaluate(env.mask, greedy))
            total += float(found.reward[0])
            length += 1
            if found.terminated[0] or found.truncated[0]:
                return Episode(total, length)
            if not env.has_limit:
                check_ends(length, longest)
        return None


def check_ends(length: int, longest: int | None) -> None:
    """An environment without a time limit would train for ever, and never be judged."""
    if longest is not None and length >= longest:
        raise ValueError(
            f"no episode ended in {length:,} steps; limit them with --max-episode-steps"
        )


ENDLESS = 10
"""An episode this many times as long as a phase has no end."""
