"""Transitions over n steps: discounted rewards summed up, and the state n steps later."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.replay.ring import Transition


class NStep:
    """Turns an episode's steps into transitions over n of them, shorter ones at its end."""

    def __init__(self, n: int, discount: float) -> None:
        self.n = n
        self.discount = discount
        self.steps: deque[tuple[NDArray[Any], NDArray[Any], float]] = deque()

    def add(
        self,
        observation: NDArray[Any],
        action: NDArray[Any],
        reward: float,
        next_observation: NDArray[Any],
        *,
        terminated: bool,
        truncated: bool,
        next_mask: NDArray[np.bool_] | None = None,
    ) -> list[Transition]:
        """The transitions that this step completes."""
        self.steps.append((observation, action, reward))
        done = []
        while self.steps and (len(self.steps) == self.n or terminated or truncated):
            first, first_action, _ = self.steps[0]
            total = sum(self.discount**k * step[2] for k, step in enumerate(self.steps))
            bootstrap = 0.0 if terminated else self.discount ** len(self.steps)
            done.append(
                Transition(first, first_action, total, bootstrap, next_observation, next_mask)
            )
            self.steps.popleft()
        return done

    def state_dict(self) -> dict[str, Any]:
        """The steps that are not part of a whole transition yet."""
        if not self.steps:
            return {}
        observations, actions, rewards = zip(*self.steps, strict=True)
        return {
            "observations": np.stack(observations),
            "actions": np.stack(actions),
            "rewards": np.array(rewards),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave."""
        parts = [state[name] for name in ("observations", "actions", "rewards") if state]
        self.steps = deque((o, a, float(r)) for o, a, r in zip(*parts, strict=True))
