"""A run's directory: its settings, its metrics and the agent."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from hyperaction.errors import SettingError
from hyperaction.runs.files import write_json
from hyperaction.runs.lock import LOCK, locked
from hyperaction.runs.loggers import Background, Logger, by_kind, logger_class
from hyperaction.runs.metrics import FILE as METRICS
from hyperaction.runs.metrics import MetricsFile
from hyperaction.runs.progress import FILE as PROGRESS
from hyperaction.runs.reader import CONFIG, FORMAT, read_config

AGENT_FILE = "agent.safetensors"
BEST_FILE = "best.safetensors"
"""The agent of the best evaluation, where it is kept."""
CHECKPOINTS = "checkpoints"
STRUCTURE = "structure.json"
"""How the hyperedges changed, and why, in a run where they do."""

GROWS = "steps"
"""The one setting that may grow when a run is resumed: it changes nothing that has happened."""


class Run:
    """A run's directory, locked and open for writing.

    A directory that holds a run of the same settings is resumed.

    Args:
        out: The directory.
        config: Every setting of the run.
        fresh: Move a run that is there aside, and start over.
        loggers: Names of loggers that take the metrics too.
        on_message: Called with what a person should know.
    """

    def __init__(
        self,
        out: Path,
        config: dict[str, Any],
        *,
        fresh: bool = False,
        loggers: Sequence[str] = (),
        on_message: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.out, self._on_message = out, on_message
        self._logger_names = loggers
        self._loggers: list[Logger] = []
        self._metrics: MetricsFile | None = None
        self.config = json.loads(json.dumps({"format": FORMAT, **config}))
        check_own(out)
        self._new = _missing(out)
        self._moved: Path | None = None
        """Where the run went that a fresh one takes the place of."""
        with ExitStack() as held:
            held.enter_context(locked(out))
            if fresh and (out / CONFIG).exists():
                self._moved = _free_name(out)
                os.rename(out, self._moved)
                self._new = _missing(out)
                held.close()
                held.enter_context(locked(out))
            held.callback(self._remove_if_empty)
            if (out / CONFIG).exists():
                check_same_settings(out, self.config)
            else:
                write_json(out / CONFIG, self.config)
            self._held = held.pop_all()

    @property
    def identity(self) -> str:
        """What tells this run from others: its settings, but for the one that may grow."""
        settings = {name: value for name, value in _flat(self.config).items() if name != GROWS}
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    def resume(
        self, mark: dict[str, Any] | None = None, step: int = 0, *, is_exact: bool = True
    ) -> str:
        """Opens the metrics and loggers, without what was written after a checkpoint.

        Args:
            mark: The metrics' mark in the checkpoint, if there is one.
            step: The checkpoint's step.
            is_exact: Whether the run writes the same metrics again as after that step before.

        Returns:
            What is wrong with metrics that do not belong to the checkpoint, if there were any.
        """
        write_json(self.out / CONFIG, self.config)  # More steps may be asked for than before.
        self._metrics = MetricsFile(self.out, mark, step, is_exact=is_exact)
        self._loggers = [
            Background(name, partial(logger_class(name), self.out, step), self._on_message)
            for name in self._logger_names
        ]
        return self._metrics.problem

    def had_checkpoint(self) -> bool:
        """Whether a checkpoint was ever written: the agent is written with the first."""
        return (self.out / AGENT_FILE).exists()

    def metrics_mark(self) -> dict[str, Any]:
        """What a checkpoint stores of the metrics."""
        assert self._metrics is not None
        return self._metrics.mark()

    def check_in_place(self) -> None:
        """Raises if the directory was removed or replaced."""
        assert self._metrics is not None
        self._metrics.check_in_place()

    def log(self, kind: str, metrics: dict[str, float]) -> None:
        """Adds one line to the metrics, whole or not at all, and passes them to the loggers."""
        assert self._metrics is not None
        self._metrics.append({"kind": kind, **metrics})
        for logger in self._loggers:
            logger.log(by_kind(kind, metrics), int(metrics["step"]))

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._metrics, *self._loggers):
            if file is not None:
                with suppress(OSError):  # A full disk has been reported already.
                    file.close()
        self._held.close()

    def _remove_if_empty(self) -> None:
        """Leaves nothing behind of a start that failed before there was a result."""
        if has_results(self.out):
            return
        for path in self._new:
            with suppress(OSError):  # Something else is in a directory, or the disk is gone.
                path.rmdir() if path.is_dir() else path.unlink()
        if self._moved is not None and not os.path.lexists(self.out):
            os.rename(self._moved, self.out)


def _missing(out: Path) -> list[Path]:
    """What a run would make and is not there, in the order to remove it again."""
    files = [out / name for name in (CHECKPOINTS, PROGRESS, METRICS, CONFIG, BEST_FILE, LOCK)]
    return [path for path in (*files, out, *out.parents) if not os.path.lexists(path)]


def has_results(out: Path) -> bool:
    """Whether a run has written a result."""
    metrics, folder = out / METRICS, out / CHECKPOINTS
    is_begun = metrics.exists() and metrics.stat().st_size > 0
    return is_begun or (out / AGENT_FILE).exists() or any(folder.glob("*"))


def check_own(out: Path) -> None:
    """Refuses a directory that holds files of something else where a run would write its own."""
    if (out / CONFIG).exists() or not out.exists():
        return
    names = (METRICS, AGENT_FILE, BEST_FILE, PROGRESS, CONFIG)
    others = [out / name for name in names if os.path.lexists(out / name)]
    folder = out / CHECKPOINTS
    is_plain = folder.is_dir() and not folder.is_symlink()
    others += sorted(folder.glob("*")) if is_plain else [folder] if os.path.lexists(folder) else []
    if others:
        name = others[0].name
        raise SettingError(f"{out} holds {name} of something else; choose another `out`")


def check_same_settings(out: Path, given: dict[str, Any]) -> None:
    """Refuses to resume a run of other settings, once it has results."""
    before, now = _flat(read_config(out)), _flat(json.loads(json.dumps(given)))
    differ = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if GROWS in differ and before.get(GROWS, 0) <= now[GROWS]:
        differ.remove(GROWS)
    if differ and has_results(out):
        changes = ", ".join(
            f"{each} was {before.get(each)}, now {now.get(each)}" for each in differ
        )
        raise ValueError(
            f"{out} holds a run of other settings: {changes} (train --fresh starts over)"
        )


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in config.items() if name not in ("settings", "format")}
    return own | flat_settings(config.get("settings", {}))


def flat_settings(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """An agent's settings by their whole names, such as optimiser.learning_rate."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        whole = prefix.rstrip(".") if prefix and name == "name" else f"{prefix}{name}"
        flat |= flat_settings(value, f"{whole}.") if isinstance(value, dict) else {whole: value}
    return flat


def _free_name(out: Path) -> Path:
    number = 1
    while os.path.lexists(free := out.with_name(f"{out.name}-old-{number}")):
        number += 1
    return free
