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

MARK_LIKE = {"bytes": 0, "sha256": ""}
"""What a mark in a checkpoint looks like."""


class MetricsFile:
    """A run's metrics, open for writing.

    Args:
        out: The run's directory.
        mark: What `mark` gave at the last checkpoint; lines after it are written again.
        step: The step of that checkpoint.
        is_exact: Whether the run writes these lines as they were. Otherwise they are kept aside.
    """

    def __init__(
        self, out: Path, mark: dict[str, Any] | None, step: int, *, is_exact: bool = True
    ) -> None:
        self.path = out / FILE
        self.problem = ""
        """What is wrong with a file that was not as the last checkpoint left it."""
        content = read_bytes(self.path) if os.path.lexists(self.path) else b""
        start = content[: mark["bytes"]] if mark else b""
        tail = content[len(start) :]
        if mark and mark["sha256"] != _sha256(start):
            start = b"".join(_lines_up_to(content, step))
            self.problem = f"{FILE} is not as the last checkpoint left it; {self._keep(content)}"
        elif not mark and content:
            self.problem = f"{FILE} is not of a checkpoint; {self._keep(content)}"
        elif tail and not (is_exact and _is_written_again(tail, start, step)):
            self.problem = f"{FILE} has lines that will not be written again; {self._keep(content)}"
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
    found = dict.fromkeys(content.splitlines(keepends=True))
    return [line for line in found if line.endswith(b"\n") and 0 <= _step(line) <= step]


def _is_written_again(tail: bytes, start: bytes, step: int) -> bool:
    """Whether a run from this step writes all that followed the start of its metrics.

    Not a line that a crash cut short, and not one that is there already.
    """
    lines = set(tail.splitlines(keepends=True)) - set(start.splitlines(keepends=True))
    return all(_step(line) >= step or not line.endswith(b"\n") for line in lines)


def _step(line: bytes) -> int:
    """The step of a line of metrics; -1 where it has none."""
    try:
        step = parse_json(line)["step"]
        return step if isinstance(step, int) else -1
    except (ValueError, KeyError, TypeError):
        return -1


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
