"""A callback of the user's own in a command: what it raises is one line, not a traceback."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperaction.errors import SettingError
from hyperaction.references import load
from hyperaction.training.callbacks import Callback, as_callbacks, name_of

if TYPE_CHECKING:
    from hyperaction.training.episodes import Episode
    from hyperaction.training.trainer import Trainer


class OwnCallback(Callback):
    """Calls a callback, and says which it was if that raises.

    Args:
        inner: The callback.
    """

    def __init__(self, inner: Callback) -> None:
        self.inner = inner

    @classmethod
    def of(cls, reference: str) -> OwnCallback:
        """The callback of a reference, `module:Class`; a function is called every step."""
        found = load(reference, "callback")
        try:
            found = found() if isinstance(found, type) else found
        except Exception as error:
            raise SettingError(f"`callback` {reference}: {_raised(error)}") from error
        return cls(as_callbacks(found)[0])

    def _call(self, event: str, *args: Any) -> Any:
        try:
            return getattr(self.inner, event)(*args)
        except SettingError:
            raise
        except Exception as error:
            name = name_of(self.inner)
            raise RuntimeError(f"the callback {name} raised {_raised(error)} in {event}") from error

    def on_start(self, trainer: Trainer) -> bool | None:
        """Passes it on, as all below do."""
        return self._call("on_start", trainer)

    def on_episode(self, trainer: Trainer, episode: Episode) -> bool | None:
        """An episode ended."""
        return self._call("on_episode", trainer, episode)

    def on_step(self, trainer: Trainer) -> bool | None:
        """A step is done."""
        return self._call("on_step", trainer)

    def on_phase(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """A phase ended."""
        return self._call("on_phase", trainer, metrics)

    def on_evaluation(self, trainer: Trainer, metrics: dict[str, float]) -> bool | None:
        """An evaluation ended."""
        return self._call("on_evaluation", trainer, metrics)

    def on_next_phase(self, trainer: Trainer) -> bool | None:
        """The next phase begins."""
        return self._call("on_next_phase", trainer)


def _raised(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{message} ({Path(frame.filename).name}, line {frame.lineno})"
