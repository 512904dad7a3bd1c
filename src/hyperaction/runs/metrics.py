"""The metrics of a run: a file that grows line by line, and is never shortened unverified."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hyperaction.runs.reader import parse_json

FILE = "metrics.jsonl"


class MetricsFile:
    """A run's metrics, open for writing.

    Args:
        out: The run's directory.
        mark: What `mark` gave at the last checkpoint; lines after it are written again.
        step: The step of that checkpoint.
    """

    def __init__(self, out: Path, mark: dict[str, Any] | None, step: int) -> None:
        self.path = out / FILE
        self.set_aside: Path | None = None
        """Where a file was moved that does not belong to the last checkpoint, if there was one."""
        content = self.path.read_bytes() if self.path.exists() else b""
        start = content[: mark["bytes"]] if mark else b""
        if (mark and mark["sha256"] != _sha256(start)) or (not mark and content):
            self.set_aside = _free_name(self.path)
            os.rename(self.path, self.set_aside)
            start = b"".join(_lines_up_to(content, step)) if mark else b""
            self.path.write_bytes(start)
        elif len(start) < len(content):
            os.truncate(self.path, len(start))
        self._hash = hashlib.sha256(start)
        self._bytes = len(start)
        self._file = self.path.open("ab")

    def mark(self) -> dict[str, Any]:
        """What a checkpoint stores of the file: its size and checksum."""
        self._check_exists()
        return {"bytes": self._bytes, "sha256": self._hash.hexdigest()}

    def append(self, row: dict[str, Any]) -> None:
        """Adds a line, whole or not at all."""
        self._check_exists()
        line = (json.dumps(row) + "\n").encode()
        self._file.write(line)
        self._file.flush()
        self._hash.update(line)
        self._bytes += len(line)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _check_exists(self) -> None:
        if not os.fstat(self._file.fileno()).st_nlink or not self.path.exists():
            raise FileNotFoundError(f"{self.path} was removed while the run was writing to it")


def _lines_up_to(content: bytes, step: int) -> list[bytes]:
    """The lines of metrics that belong to steps up to this one, each once."""
    lines: dict[bytes, None] = {}
    for line in content.splitlines(keepends=True):
        try:
            row = parse_json(line)
            if line.endswith(b"\n") and 0 <= row["step"] <= step:
                lines[line] = None
        except (ValueError, KeyError, TypeError):
            continue
    return list(lines)


def _free_name(path: Path) -> Path:
    number = 1
    while (free := path.with_name(f"{path.stem}-old-{number}{path.suffix}")).exists():
        number += 1
    return free


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
