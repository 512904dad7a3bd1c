"""Environments whose state is saved from outside: they are made again and repeat their actions.

Simulators carry state that nobody can see from one episode into the next. So the environment is
made again for every phase of training, and its state is its seed and the actions since then, or,
where the start of an episode can be saved, that start and the actions since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.constraints import Constraints
from hyperaction.envs.masks import check_same_masks
from hyperaction.envs.statistics import Statistics, merged
from hyperaction.envs.vector import Environments, Masks, Single, Steps


class Resumable:
    """Environments made by a function, which log their actions.

    Args:
        make: Makes the environments.
        seed: The seed of the first reset.
        is_same: Whether `make` gives the same environments every time; they are then only reset.
    """

    def __init__(
        self, make: Callable[[], Environments], seed: int, *, is_same: bool = False
    ) -> None:
        self._make, self._envs, self._is_same = make, make(), is_same
        self.num_envs, self.actions = self._envs.num_envs, self._envs.actions
        self.observations = self._envs.observations
        self.observation_shape = self._envs.observation_shape
        self.observation_dtype = self._envs.observation_dtype
        self.frames, self.has_limit = self._envs.frames, self._envs.has_limit
        self.reset(seed)

    @property
    def now(self) -> Environments:
        """The environments themselves, as they are now."""
        return self._envs

    @property
    def observation(self) -> NDArray[Any]:
        """What to act on."""
        return self._envs.observation

    @property
    def constraints(self) -> Constraints:
        """What is allowed in every state."""
        return self._envs.constraints

    @property
    def mask(self) -> Masks:
        """What is allowed."""
        return self._envs.mask

    @property
    def episode_start(self) -> NDArray[np.uint8] | None:
        """The environment's state at the start of the episode, if it can be saved."""
        return self._envs.episode_start

    def remake(self, seed: int, statistics: Sequence[Statistics] | None = None) -> None:
        """New environments, with their own seed.

        Args:
            seed: The seed of their reset.
            statistics: What their wrappers know; by default what those before have learned.
        """
        before = self.mask
        known = self._envs.statistics() if statistics is None else statistics
        if not self._is_same:
            self._envs.close()
        self._envs = self._make()
        self._envs.load_statistics(known)
        self.reset(seed)
        check_same_masks(before, self.mask)

    def reset(self, seed: int | None = None) -> None:
        """Starts all episodes."""
        assert seed is not None
        self._seed = seed
        self._log: list[NDArray[Any]] = []
        self._statistics = self._envs.statistics()
        """What the wrappers knew before the reset. Games, whose log is cleared, have none."""
        self._envs.reset(seed)

    def step(self, actions: NDArray[Any]) -> Steps:
        """Takes one action in each."""
        result = self._envs.step(actions)
        self._log.append(actions)
        if self._envs.episode_start is not None and (result.terminated | result.truncated).any():
            self._log.clear()  # The start of the new episode is known.
        return result

    def statistics(self) -> list[Statistics]:
        """What the wrappers of each environment know."""
        return self._envs.statistics()

    def load_statistics(self, statistics: Sequence[Statistics]) -> None:
        """Gives the wrappers what `statistics` gave."""
        self._envs.load_statistics(statistics)

    def close(self) -> None:
        """Frees what the environments hold."""
        self._envs.close()

    def state_dict(self) -> dict[str, Any]:
        """The seed, the actions since, and what was observed then; statistics if there are any."""
        state: dict[str, Any] = {
            "seed": self._seed,
            "actions": np.stack(self._log) if self._log else None,
            "observation": self.observation,
            "episode_start": self.episode_start,
        }
        if any(self._statistics):
            state["statistics"] = {"first": self._statistics, "now": merged(self.statistics())}
        return state

    def state_like(self, actions: NDArray[Any]) -> Any:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`.

        Args:
            actions: Any actions, one for each environment.
        """
        like = self.state_dict() | {
            "actions": (None, np.empty((0, *actions.shape), actions.dtype)),
            "episode_start": None if self.episode_start is None else np.empty(0, np.uint8),
        }
        earlier = {name: value for name, value in like.items() if name != "statistics"}
        return (earlier, like)  # Runs of earlier versions have no statistics.

    def load_state_dict(self, state: dict[str, Any]) -> bool:
        """Takes the same actions again; whether that led to the same observation.

        An environment that is not deterministic starts a new episode instead.
        """
        known = state["statistics"]["first"] if "statistics" in state else ()
        self.remake(state["seed"], known)
        if state["episode_start"] is not None:
            assert isinstance(self._envs, Single)
            self._envs.restore_episode(state["episode_start"])
        for actions in () if state["actions"] is None else state["actions"]:
            self._envs.step(actions)
            self._log.append(actions)
        if np.array_equal(self.observation, state["observation"]):
            return True
        self.remake(state["seed"], known)
        return False
