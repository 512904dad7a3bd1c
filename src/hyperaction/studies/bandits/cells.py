"""Training one cell of the study, with a file to resume from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.studies.bandits.files import cell_file, load_errors, save_cell
from hyperaction.studies.bandits.prediction import Learner, init, train
from hyperaction.studies.bandits.problem import reward_function
from hyperaction.studies.bandits.settings import MODELS, BanditStudy, Cell

ITERATIONS_PER_CALL = 10
SAVE_INTERVAL_S = 5.0


def train_cell(study: BanditStudy, cell: Cell) -> Iterator[int]:
    """Trains a cell, resuming from its file if there is one; yields the iterations done so far."""
    file = cell_file(study.out, cell)
    rewards = np.stack(
        [reward_function(cell.size, (study.seed, cell.size, t)) for t in range(study.trials)]
    )
    learners, batch_keys = _init(study.seed, study.trials, cell)
    errors = np.zeros((study.trials, 0), np.float32)
    if file.exists():
        learners, errors = _load(file, learners)
    yield errors.shape[1]
    saved = time.monotonic()
    while (done := errors.shape[1]) < study.iterations:
        count = min(ITERATIONS_PER_CALL, study.iterations - done)
        learners, new = train(learners, jnp.asarray(rewards), batch_keys, jnp.asarray(done), count)
        errors = np.concatenate([errors, np.asarray(new)], axis=1)
        finished = errors.shape[1] == study.iterations
        if finished or time.monotonic() - saved > SAVE_INTERVAL_S:
            _save(file, rewards, None if finished else learners, errors)
            saved = time.monotonic()
        yield errors.shape[1]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _init(seed: int, trials: int, cell: Cell) -> tuple[Learner, Key[Array, " trials"]]:
    """The initial learner and the key for minibatches of each trial.

    The minibatches of a trial are the same for all models.
    """
    size_key = jax.random.fold_in(jax.random.key(seed), cell.size)

    def trial(number: Int[Array, ""]) -> tuple[Learner, PRNGKeyArray]:
        init_key, batch_key = jax.random.split(jax.random.fold_in(size_key, number))
        return init(MODELS[cell.model], cell.size, init_key), batch_key

    return jax.vmap(trial)(jnp.arange(trials))


def _save(
    file: Path, rewards: NDArray[np.float32], learners: Learner | None, errors: NDArray[np.float32]
) -> None:
    """Writes the errors and, while unfinished, the state to resume from."""
    reward_rms = np.sqrt(np.mean(rewards**2, axis=1))
    arrays = {"errors": errors, "reward_rms": reward_rms}
    arrays |= {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(learners))}
    save_cell(file, arrays)


def _load(file: Path, learners: Learner) -> tuple[Learner, NDArray[np.float32]]:
    errors = load_errors(file)
    with np.load(file, allow_pickle=False) as data:
        leaves, structure = jax.tree.flatten(learners)
        if "leaf0" in data:  # The file of a finished cell has only its errors.
            leaves = [jnp.asarray(data[f"leaf{i}"]) for i in range(len(leaves))]
    return jax.tree.unflatten(structure, leaves), errors
