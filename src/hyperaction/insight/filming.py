"""An episode as it is rendered, with what the agent thought at every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hyperaction.insight.runs import Trained
from hyperaction.insight.watching import looker


class Shot(NamedTuple):
    """One step."""

    frame: NDArray[np.uint8]
    """The state as rendered, `[height, width, 3]`."""
    representation: NDArray[np.float32]
    """The chosen action's one value per hyperedge."""
    action: NDArray[np.float64]
    """The chosen sub-actions, each from 0, the lowest, to 1, the highest."""
    value: float
    """Q(s, a) of the chosen action."""
    total: float
    """The return so far."""
    episode: int
    step: int


def film(trained: Trained, episodes: int, seed: int) -> Iterator[Shot]:
    """So many episodes of the greedy policy."""
    learner, hypergraph = trained.learner, trained.hypergraph
    look = looker(learner)
    env = trained.make_env(render_mode="rgb_array")
    try:
        for episode in range(1, episodes + 1):
            observation, info = env.reset(seed=seed if episode == 1 else None)
            total, step, over = 0.0, 0, False
            while not over:
                flat = spaces.flatten(env.observation_space, observation)
                flat = np.asarray(flat, np.float32).reshape(learner.observation_shape)
                outputs, action, value = look(flat, info.get("action_mask"))
                yield Shot(
                    _frame(env),
                    hypergraph.representation(outputs, action),
                    action / np.maximum(np.array(hypergraph.sizes) - 1, 1),
                    float(value),
                    total,
                    episode,
                    step,
                )
                observation, reward, terminated, truncated, info = env.step(learner.actions(action))
                total, step, over = total + float(reward), step + 1, terminated or truncated
    finally:
        env.close()


def _frame(env: Any) -> NDArray[np.uint8]:
    frame = env.render()
    if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.shape[2] != 3:
        raise ValueError("the environment renders no pictures (rgb_array)")
    return np.asarray(frame, np.uint8)
