"""Checkpoints of a trainer: the states of its parts, and what is new in replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.manifests import Checkpoint
from hyperaction.runs.metrics import MARK_LIKE
from hyperaction.runs.schema import UnreadableError
from hyperaction.runs.state import check_like, join, split
from hyperaction.training.trainer import Trainer


class TrainerCheckpoints:
    """Writes a trainer's checkpoints, and puts a trainer back to one."""

    def __init__(self, store: Checkpoints) -> None:
        self.store = store

    def write(self, trainer: Trainer, run: dict[str, Any], about: dict[str, Any]) -> Path:
        """Writes a checkpoint; the file with its arrays, which is an agent's file too.

        Args:
            trainer: What is saved.
            run: What else the run needs to resume.
            about: What the agent is.
        """
        plain, arrays = split(trainer.state_dict())
        streams = trainer.replay.streams
        state = {
            **run,
            "trainer": plain,
            "streams": {name: stream.added for name, stream in streams.items()},
        }
        return self.store.write(state, arrays, streams, about)

    def restore(self, trainer: Trainer, checkpoint: Checkpoint) -> bool:
        """Puts a trainer back to a checkpoint; whether its environment is there too."""
        try:
            return self._restore(trainer, checkpoint)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            is_ours = isinstance(error, UnreadableError)
            reason = str(error) if is_ours else f"{type(error).__name__}: {error}"
            raise ValueError(
                f"{checkpoint.file} is not a checkpoint of this run: {reason}"
            ) from error

    def _restore(self, trainer: Trainer, checkpoint: Checkpoint) -> bool:
        streams = trainer.replay.streams
        state = join(checkpoint.state, checkpoint.arrays)
        trainer.adopt(state["trainer"])
        like = {"trainer": trainer.state_like(), "streams": dict.fromkeys(streams, 0)}
        check_like(state, like | {"metrics": MARK_LIKE})
        for piece in checkpoint.replay:
            streams[piece.stream].refill(piece.first, piece.read())
        is_back = trainer.load_state_dict(state["trainer"])
        if checkpoint.lost_before:
            trainer.drop_replay_before(checkpoint.lost_before)
        for name, stream in streams.items():
            if stream.added != state["streams"][name]:
                wanted = state["streams"][name]
                raise ValueError(f"the checkpoint's {name} has {stream.added} entries of {wanted}")
        len(trainer.replay)  # Raises where it would hold fewer than no transitions.
        return is_back
