"""A run's directory: its settings, its metrics, TensorBoard events and the agent."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any

AGENT_FILE = "agent.safetensors"


class Run:
    """A run's directory, open for writing."""

    def __init__(self, out: Path, config: dict[str, Any], *, tensorboard: bool = True) -> None:
        if (out / "config.json").exists():
            raise ValueError(f"{out} already holds a run; choose another --out or remove it")
        out.mkdir(parents=True, exist_ok=True)
        (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        self.out = out
        self._metrics = (out / "metrics.jsonl").open("a")
        self._events: Any = None
        if tensorboard:
            from tensorboardX import SummaryWriter

            self._events = SummaryWriter(str(out), flush_secs=30)

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._metrics.close()
        if self._events is not None:
            self._events.close()


def read_metrics(out: Path, kind: str) -> list[dict[str, Any]]:
    """A run's metrics of one kind."""
    file = out / "metrics.jsonl"
    if not file.exists():
        raise ValueError(f"{out} holds no run: there is no {file.name} in it")
    lines = file.read_text().splitlines(keepends=True)
    # A line that a crash cut short is no line yet.
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return [row for row in rows if row["kind"] == kind]


def read_config(out: Path) -> dict[str, Any]:
    """A run's settings."""
    file = out / "config.json"
    if not file.exists():
        raise ValueError(f"{out} holds no run: there is no {file.name} in it")
    return json.loads(file.read_text())
