"""The metrics of a run: a file that grows line by line, and is never shortened unverified."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hyperaction.runs.files import replacing
from hyperaction.runs.reader import parse_json, read_bytes

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
        self.problem = ""
        """What is wrong with a file that was not as the last checkpoint left it."""
        content = read_bytes(self.path) if os.path.lexists(self.path) else b""
        start = content[: mark["bytes"]] if mark else b""
        if mark and mark["sha256"] != _sha256(start):
            start = b"".join(_lines_up_to(content, step))
            self.problem = f"{FILE} is not as the last checkpoint left it; {self._keep(content)}"
        elif not mark and content:
            self.problem = f"{FILE} is not of a checkpoint; {self._keep(content)}"
        # A new file: the old one may have other names, as in a backup made of links.
        _write(self.path, start)
        self._hash = hashlib.sha256(start)
        self._bytes = len(start)
        self._file = self.path.open("ab", buffering=0)

    def _keep(self, content: bytes) -> str:
        """Keeps a file that is replaced under another name; what there is to say about that."""
        if not content:
            return "its lines are lost"
        free = _free_name(self.path)
        _write(free, content)
        return f"it is kept as {free.name}"

    def mark(self) -> dict[str, Any]:
        """What a checkpoint stores of the file: its size and checksum."""
        self.check_in_place()
        os.fsync(self._file.fileno())  # What a checkpoint counts on outlasts a loss of power too.
        return {"bytes": self._bytes, "sha256": self._hash.hexdigest()}

    def append(self, row: dict[str, Any]) -> None:
        """Adds a line, whole or not at all."""
        self.check_in_place()
        line = (json.dumps(row) + "\n").encode()
        if self._file.write(line) != len(line):
            self._file.truncate(self._bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self._hash.update(line)
        self._bytes += len(line)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def check_in_place(self) -> None:
        """Raises if the file was removed or replaced: what is written would be lost."""
        try:
            is_same = os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise FileNotFoundError(f"{self.path} was removed or replaced while the run trained")


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
    while os.path.lexists(free := path.with_name(f"{path.stem}-old-{number}{path.suffix}")):
        number += 1
    return free


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as part:
        part.write_bytes(content)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
