"""Everything that changes in training, taken out and put back, so that stopping changes nothing.

The environment is not taken out: it was made anew when the phase began, and its seed and the
actions since then bring it back, whatever it hides.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.environments import Single
from hyperaction.runs.checkpoints import Checkpoint
from hyperaction.saving import arrays_of, filled
from hyperaction.training import DivergedError, Episode, Flat, Phase, Training

Arrays = dict[str, NDArray[Any]]


class Snapshot(NamedTuple):
    """A training at one moment: what JSON can hold, and arrays."""

    state: dict[str, Any]
    arrays: Arrays


def snapshot(training: Training) -> Snapshot:
    """All but replay's transitions."""
    phase = training.phase
    arrays = arrays_of(training.state.tree)
    if phase.actions:
        arrays["phase.actions"] = np.stack(phase.actions)
    arrays["env.observation"] = training.env.observation
    if training.env.episode_start is not None:
        arrays["env.episode_start"] = training.env.episode_start
    for place, kept in enumerate(training.kept):
        if kept is not None:
            arrays[f"kept.{place}"] = kept
    if training.next_greedy is not None:  # Computed anew by itself, it might differ in a last bit.
        arrays["next_greedy"] = np.asarray(training.next_greedy)
    for place, n_step in enumerate(training.n_steps):
        if n_step.steps:
            observations, actions, rewards = zip(*n_step.steps, strict=True)
            arrays[f"n_step.{place}.observations"] = np.stack(observations)
            arrays[f"n_step.{place}.actions"] = np.stack(actions)
            arrays[f"n_step.{place}.rewards"] = np.array(rewards)
    state: dict[str, Any] = {
        "step": training.step,
        "empty_since": training.empty_since,
        "random": training.random.bit_generator.state,
        "explorer": training.explorer.state(),
        "replay": training.ring.state(),
        "replay_added": {name: stream.added for name, stream in training.ring.streams.items()},
        "loss": None if training.loss is None else float(training.loss),
        "totals": training.totals,
        "lengths": training.lengths,
        "phase": {
            "number": phase.number,
            "first": phase.first,
            "episodes": [list(episode) for episode in phase.episodes],
            "losses": phase.losses,
            "over": phase.over,
        },
    }
    if training.priorities is not None:
        arrays["priorities"] = training.priorities.priorities
        state["largest_priority"] = training.priorities.largest
    for name, array in arrays.items():
        if name.startswith(".online") and not np.isfinite(array).all():
            raise DivergedError(f"the parameter {name} is not finite at step {training.step:,}")
    return Snapshot(state, arrays)


def restore(training: Training, checkpoint: Checkpoint) -> bool:
    """Puts a training back to where the checkpoint was taken; whether its environment is there too.

    One that does not repeat itself begins a new episode instead.
    """
    state, arrays = checkpoint.state, checkpoint.arrays
    training.state = Flat(filled(training.state.tree, arrays))
    training.step, training.empty_since = state["step"], state["empty_since"]
    training.totals, training.lengths = state["totals"], state["lengths"]
    training.loss = None if state["loss"] is None else jax.numpy.float32(state["loss"])
    training.random.bit_generator.state = state["random"]
    training.explorer.restore(state["explorer"])
    _restore_replay(training, checkpoint)
    for place, n_step in enumerate(training.n_steps):
        names = [f"n_step.{place}.{part}" for part in ("observations", "actions", "rewards")]
        parts = [arrays[name] for name in names if name in arrays]
        n_step.steps = deque((o, a, float(r)) for o, a, r in zip(*parts, strict=True))
    saved = state["phase"]
    phase = training.phase = Phase(saved["number"], saved["first"])
    phase.episodes = [Episode(*episode) for episode in saved["episodes"]]
    phase.losses, phase.over = saved["losses"], saved["over"]
    phase.actions = list(arrays.get("phase.actions", ()))
    if not _restore_env(training, arrays):
        return False
    training.kept = [arrays.get(f"kept.{place}") for place in range(training.env.count)]
    if "next_greedy" in arrays:
        training.next_greedy = jax.numpy.asarray(arrays["next_greedy"])
    return True


def _restore_replay(training: Training, checkpoint: Checkpoint) -> None:
    ring, state = training.ring, checkpoint.state
    for piece in checkpoint.replay:
        ring.streams[piece.stream].refill(piece.first, piece.read())
    for name, stream in ring.streams.items():
        if stream.added != state["replay_added"][name]:
            wanted = state["replay_added"][name]
            raise ValueError(f"the checkpoint's {name} has {stream.added} entries of {wanted}")
    ring.restore(state["replay"])
    if training.priorities is not None:
        training.priorities.refill(
            checkpoint.arrays["priorities"], checkpoint.state["largest_priority"]
        )


def _restore_env(training: Training, arrays: Arrays) -> bool:
    training.remake_env()
    if "env.episode_start" in arrays:
        assert isinstance(training.env, Single)
        training.env.back_to(arrays["env.episode_start"])
    for actions in training.phase.actions:
        training.env.step(actions)
    if np.array_equal(training.env.observation, arrays["env.observation"]):
        return True
    training.remake_env()
    training.phase.actions = []
    training.begin_episodes()
    return False
