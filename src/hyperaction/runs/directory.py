"""What a run keeps: `config.json`, every setting, and `metrics.jsonl`, one measurement a line."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any


class Run:
    """A run's directory, open for writing."""

    def __init__(self, out: Path, config: dict[str, Any]) -> None:
        if (out / "config.json").exists():
            raise ValueError(f"{out} already holds a run; choose another --out or remove it")
        out.mkdir(parents=True, exist_ok=True)
        (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        self.out = out
        self._metrics = (out / "metrics.jsonl").open("a")

    def log(self, kind: str, **values: float) -> None:
        """Adds one line to the metrics, whole or not at all."""
        self._metrics.write(json.dumps({"kind": kind, **values}) + "\n")
        self._metrics.flush()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._metrics.close()


def read_metrics(out: Path, kind: str) -> list[dict[str, Any]]:
    """The measurements of one kind; a last line that was torn is left out."""
    lines = (out / "metrics.jsonl").read_text().split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["kind"] == kind]
