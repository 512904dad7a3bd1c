"""A copy of what an agent has learned, for when an update fails while it runs.

An update takes the old state's memory for the new one. If it fails then, as when the memory runs
out, both are gone. Runs have their checkpoints; an agent in Python has this copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.training.callbacks import Callback
from hyperaction.training.trainer import Trainer

INTERVAL = 1_000
"""Steps between copies, at least."""


class Backup(Callback):
    """Copies a trainer's state now and then, and gives it back where it was lost."""

    def __init__(self) -> None:
        self._leaves: list[NDArray[Any]] = []
        self._step = -INTERVAL
        self._agent: Any = None

    def on_start(self, trainer: Trainer) -> bool | None:
        """Copies the state."""
        if trainer.step - self._step >= INTERVAL or trainer.agent is not self._agent:
            self._agent = trainer.agent
            # Copies, as an array that shares the state's memory would keep it from being reused.
            self._leaves = [np.array(leaf) for leaf in trainer.state.leaves]
            self._step = trainer.step
        return None

    def on_step(self, trainer: Trainer) -> bool | None:
        """Copies the state where it has become another's, as with other hyperedges."""
        return self.on_start(trainer) if trainer.agent is not self._agent else None

    def on_next_phase(self, trainer: Trainer) -> bool | None:
        """Copies the state."""
        return self.on_start(trainer)

    @contextmanager
    def kept(self, trainer: Trainer) -> Iterator[None]:
        """Whatever the block raises, the trainer has a state after it."""
        try:
            yield
            _wait(trainer)  # Whether the last update failed is known only then.
        except BaseException as error:
            if _is_lost(trainer):
                trainer.replace_state(self._leaves)
                error.add_note(f"The agent is as it was after step {self._step}.")
            raise


def _is_lost(trainer: Trainer) -> bool:
    """Whether an update that failed took the state with it."""
    try:
        _wait(trainer)
    except Exception:
        return True
    return False


def _wait(trainer: Trainer) -> None:
    """Waits for the last update; raises if it failed, or if its state is gone."""
    for leaf in trainer.state.leaves:
        leaf.block_until_ready()
