"""A run's directory: its settings, its metrics, TensorBoard events and the agent."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from hyperaction.runs.arrays import write_whole
from hyperaction.runs.lock import locked

AGENT_FILE = "agent.safetensors"


GROWS = "steps"
"""The one setting that may grow when a run goes on: it changes nothing that has happened."""


KINDS = {"env": str, "agent": str, "steps": int, "settings": dict}
"""What the settings of any run have."""


class Run:
    """A run's directory, held and open for writing.

    A directory that holds a run of the same settings is taken up again.

    Args:
        out: The directory.
        config: Every setting of the run.
        fresh: Put a run that is there aside, and start over.
        tensorboard: Write TensorBoard events beside the metrics.
    """

    def __init__(
        self, out: Path, config: dict[str, Any], *, fresh: bool = False, tensorboard: bool = True
    ) -> None:
        self.out = out
        self._tensorboard = tensorboard
        self._events: Any = None
        self._metrics: Any = None
        config = json.loads(json.dumps(config))
        with ExitStack() as held:
            held.enter_context(locked(out))
            if fresh and (out / "config.json").exists():
                os.rename(out, _free_name(out))
                held.close()
                held.enter_context(locked(out))
            if (out / "config.json").exists():
                check_same_settings(out, config)
            write_whole(out / "config.json", json.dumps(config, indent=2) + "\n")
            self._held = held.pop_all()

    def go_on(self, metrics_bytes: int, step: int) -> None:
        """Opens the metrics and events, without what was written after that step."""
        file = self.out / "metrics.jsonl"
        there = file.stat().st_size if file.exists() else 0
        if there < metrics_bytes:
            raise ValueError(f"{file} lost lines that were written before step {step:,}")
        if there:
            os.truncate(file, metrics_bytes)
        self._metrics = file.open("a")
        if self._tensorboard:
            from tensorboardX import SummaryWriter

            self._events = SummaryWriter(
                str(self.out), flush_secs=30, purge_step=step + 1 if step else None
            )

    def had_checkpoint(self) -> bool:
        """Whether a checkpoint was ever written: the agent is kept with the first."""
        return (self.out / AGENT_FILE).exists()

    def metrics_bytes(self) -> int:
        """How long the metrics are."""
        return os.fstat(self._metrics.fileno()).st_size

    def log(self, kind: str, metrics: dict[str, float]) -> None:
        """Adds one line to the metrics, whole or not at all, and TensorBoard's events."""
        self._metrics.write(json.dumps({"kind": kind, **metrics}) + "\n")
        self._metrics.flush()
        if self._events is not None:
            for name, value in metrics.items():
                if name != "step":
                    self._events.add_scalar(f"{kind}/{name}", value, int(metrics["step"]))

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._metrics, self._events):
            if file is not None:
                with suppress(OSError):  # A full disk has been told of already.
                    file.close()
        self._held.close()


def check_same_settings(out: Path, given: dict[str, Any]) -> None:
    """Refuses to go on with a run of other settings."""
    before, now = _flat(read_config(out)), _flat(json.loads(json.dumps(given)))
    differ = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if GROWS in differ and before.get(GROWS, 0) <= now[GROWS]:
        differ.remove(GROWS)
    if differ:
        told = ", ".join(f"{name} was {before.get(name)}, now {now.get(name)}" for name in differ)
        raise ValueError(f"{out} holds a run of other settings: {told} (train --fresh starts over)")


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    settings = config.get("settings", {})
    return {name: value for name, value in config.items() if name != "settings"} | settings


def _free_name(out: Path) -> Path:
    number = 1
    while (free := out.with_name(f"{out.name}-old-{number}")).exists():
        number += 1
    return free


def read_metrics(out: Path, kind: str) -> list[dict[str, Any]]:
    """A run's metrics of one kind."""
    file = out / "metrics.jsonl"
    if not file.exists():
        raise ValueError(f"{out} holds no run: there is no {file.name} in it")
    lines = file.read_text(errors="replace").splitlines(keepends=True)
    try:
        # A line that a crash cut short is no line yet.
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        return [row for row in rows if row["kind"] == kind]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{file} is damaged: {error}") from None


def read_config(out: Path) -> dict[str, Any]:
    """A run's settings."""
    file = out / "config.json"
    if not file.exists():
        raise ValueError(f"{out} holds no run: there is no {file.name} in it")
    try:
        config = json.loads(file.read_text())
        known = isinstance(config, dict) and all(
            type(config.get(key)) is kind for key, kind in KINDS.items()
        )
        if not known:
            raise ValueError("it does not hold the settings of a run")
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from None
    return config
