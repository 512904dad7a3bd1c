"""Evaluation: episodes that an agent does not learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.envs.vector import Environments
from hyperaction.errors import SettingError
from hyperaction.training.compiled import Agent, Compiled, FlatState, check_actions
from hyperaction.training.episodes import Episode

ENDLESS = 10
"""An episode that is this many times as long as a phase is taken to have no end."""


def never() -> bool:
    """Never stops."""
    return False


class Evaluator:
    """Plays episodes in an environment of its own, which is made again for every evaluation.

    Args:
        agent: The agent.
        compiled: Its functions, compiled.
        make_env: Makes the environment.
        greedy: Takes the best action always, whatever the exploration does in evaluations.
        closes: Whether an environment is closed after its evaluation.
    """

    def __init__(
        self,
        agent: Agent,
        compiled: Compiled,
        make_env: Callable[[], Environments],
        *,
        greedy: bool = False,
        closes: bool = True,
    ) -> None:
        self.agent, self.compiled, self.make_env = agent, compiled, make_env
        self._is_greedy, self._closes = greedy, closes

    def use(self, agent: Agent, compiled: Compiled) -> None:
        """Evaluates this agent from now on."""
        self.agent, self.compiled = agent, compiled

    def begin(self, seed: int) -> None:
        """Starts an evaluation with this seed."""
        self.env = self.make_env()
        self.env.reset(seed)
        self.explorer = self.agent.explorer(self.env.num_envs, np.random.default_rng(seed))

    def run(
        self,
        state: FlatState,
        min_steps: int,
        should_stop: Callable[[], bool] = never,
        max_episode_steps: int | None = None,
    ) -> list[Episode] | None:
        """Whole episodes of at least so many steps in total; nothing if it is stopped before."""
        episodes: list[Episode] = []
        try:
            while sum(episode.length for episode in episodes) < min_steps:
                episode = self.episode(state, should_stop, max_episode_steps)
                if episode is None:
                    return None
                episodes.append(episode)
            return episodes
        finally:
            if self._closes:
                self.env.close()

    def episode(
        self,
        state: FlatState,
        should_stop: Callable[[], bool] = never,
        max_episode_steps: int | None = None,
    ) -> Episode | None:
        """One episode of the evaluation policy; nothing if it is stopped before."""
        env, total, length = self.env, 0.0, 0

        def greedy() -> NDArray[Any]:
            inputs = None if self._is_greedy else self.explorer.evaluation_inputs()
            return np.asarray(self.compiled.act(state, env.observation, env.mask, inputs))

        while not should_stop():
            actions = greedy() if self._is_greedy else self.explorer.evaluate(env.mask, greedy)
            result = env.step(check_actions(actions, self.agent, env.mask))
            total += float(result.reward[0])
            length += 1
            if result.terminated[0] or result.truncated[0]:
                return Episode(total, length)
            if not env.has_limit:
                check_ends(length, max_episode_steps)
        return None


def check_ends(length: int, max_episode_steps: int | None) -> None:
    """Refuses an episode that seems to have no end: it would never be evaluated."""
    if max_episode_steps is not None and length >= max_episode_steps:
        raise SettingError(
            f"no episode ended in {length:,} steps; limit them with `max_episode_steps`"
        )
