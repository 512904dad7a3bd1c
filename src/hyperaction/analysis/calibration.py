"""Whether values hold: Q of greedy actions beside the discounted returns that followed them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.analysis.rollout import Rollout

MAX_TAIL = 0.05
"""What a reward after the last one seen may still be worth, for a step's return to count."""


class Calibration:
    """Values of greedy actions and what followed them, over the rollout of an agent.

    Args:
        discount: The agent's.
        reward_clip: What the agent clips rewards to; 0 is no limit.
    """

    def __init__(self, discount: float, reward_clip: float = 0.0) -> None:
        self.discount, self.reward_clip = discount, reward_clip
        self.chunks: list[Rollout] = []

    def add(self, rollout: Rollout) -> None:
        """Adds consecutive steps."""
        self.chunks.append(rollout._replace(outputs=rollout.outputs[:, :0]))

    def pairs(self) -> NDArray[np.float64]:
        """The value and the return of every step that counts, `[2, steps]`."""
        if not self.chunks:
            return np.empty((2, 0))
        whole = Rollout(*(np.concatenate(part) for part in zip(*self.chunks, strict=True)))
        clip = self.reward_clip or np.inf
        rewards = np.clip(whole.rewards, -clip, clip)
        returns, tails = returns_after(rewards, whole.terminated, whole.truncated, self.discount)
        counts = tails <= MAX_TAIL
        return np.stack([whole.values[counts].astype(np.float64), returns[counts]])


def returns_after(
    rewards: NDArray[Any],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    discount: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The discounted return from each step on, and what a reward after the last is worth to it.

    That is nothing where the episode terminated. The last step is the last that is known.
    """
    returns, tails = np.zeros(len(rewards)), np.zeros(len(rewards))
    total, tail = 0.0, 1.0
    for step in reversed(range(len(rewards))):
        if terminated[step] or truncated[step]:
            total, tail = 0.0, 0.0 if terminated[step] else 1.0
        total, tail = float(rewards[step]) + discount * total, discount * tail
        returns[step], tails[step] = total, tail
    return returns, tails


def summary(calibrations: list[Calibration]) -> dict[str, Any] | None:
    """Means and their correlation over all steps that count, ready for JSON; None without any."""
    values, returns = np.concatenate([each.pairs() for each in calibrations], axis=1)
    if not len(values):
        return None
    varies = values.std() > 0 and returns.std() > 0
    return {
        "steps": len(values),
        "value": float(values.mean()),
        "return": float(returns.mean()),
        "correlation": float(np.corrcoef(values, returns)[0, 1]) if varies else None,
    }
