"""An episode as it is rendered, with what the agent thought at every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.environments import Factored, Single
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
    played = Single(Factored(env, learner.actions))
    episode, step, total = 1, 0, 0.0
    try:
        played.reset(seed)
        while episode <= episodes:
            mask = None if played.mask is None else played.mask[0]
            outputs, action, value = look(played.observation[0], mask)
            yield Shot(
                _frame(env),
                hypergraph.representation(outputs, action),
                action / np.maximum(np.array(hypergraph.sizes) - 1, 1),
                float(value),
                total,
                episode,
                step,
            )
            found = played.step(action[None])
            total, step = total + float(found.reward[0]), step + 1
            if found.terminated[0] or found.truncated[0]:
                episode, step, total = episode + 1, 0, 0.0
    finally:
        played.close()


def _frame(env: Any) -> NDArray[np.uint8]:
    frame = env.render()
    if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.shape[2] != 3:
        raise ValueError("the environment renders no pictures (rgb_array)")
    return np.asarray(frame, np.uint8)
