"""Checkpoints: whole, verified, and no longer than what is new.

A checkpoint is a manifest that names its files and their checksums; it is written last, so that
without it nothing counts. Replay only ever grows, so each checkpoint adds files with what has come
since the one before, and shares the older files with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from hyperaction.runs.directory import CHECKPOINTS
from hyperaction.runs.files import read_arrays, write_arrays, write_text

MAX_PIECE = 50_000
"""Entries per file; that many are copied to be written."""

OWN = re.compile(r"(checkpoint-\d+\.json|[a-z]+-\d+(-\d+)?\.safetensors)(\.part)?")
"""The names of files that checkpoints consist of."""

NUM_KEPT = 2
"""Checkpoints that are kept: the last, and one to fall back on."""

Arrays = dict[str, NDArray[Any]]


class Growth(NamedTuple):
    """What has come to a stream since the last checkpoint."""

    first: int
    """The number of the first entry that has."""
    last: int
    """The number of the entry that comes next."""
    oldest: int
    """The first entry that the stream still holds."""
    entries: Callable[[int, int], Arrays]
    """Gives arrays of the entries from one number to another, in the order they came."""


class Piece(NamedTuple):
    """A part of a stream, in a file that is whole."""

    stream: str
    first: int
    """The number of its first entry."""
    file: Path

    def read(self) -> Arrays:
        """Its entries; one piece at a time, as all may be more than a machine holds twice."""
        return read_arrays(self.file)[0]


class Checkpoint(NamedTuple):
    """What a run needs to resume."""

    number: int
    state: dict[str, Any]
    """Everything that is not an array, ready for JSON."""
    arrays: Arrays
    replay: list[Piece]
    """What replay holds and no more, in the order it came."""


class DamagedError(Exception):
    """A checkpoint that cannot be used."""


class Checkpoints:
    """A run's checkpoints."""

    def __init__(self, out: Path) -> None:
        self.folder = out / CHECKPOINTS
        self._segments: list[dict[str, Any]] = []
        self._number = 0
        self._damaged: list[int] = []

    def write(
        self,
        state: dict[str, Any],
        arrays: Arrays,
        replay: dict[str, Growth],
        about: dict[str, Any],
    ) -> Path:
        """Writes the next checkpoint; the file with its arrays.

        Args:
            state: Everything that is not an array.
            arrays: What changes as a whole.
            replay: What has come to replay's streams since the last checkpoint, by their names.
            about: What the file with the arrays says of itself, which makes it an agent's file.
        """
        self.folder.mkdir(exist_ok=True)
        number = self._number + 1
        segments = [each for each in self._segments if each["last"] > replay[each["stream"]].oldest]
        written: list[Path] = []
        try:
            for stream, growth in replay.items():
                for first in range(growth.first, growth.last, MAX_PIECE):
                    last = min(first + MAX_PIECE, growth.last)
                    file = self.folder / f"{stream}-{number:06}-{first}.safetensors"
                    written.append(file)
                    write_arrays(file, growth.entries(first, last), {"first": first})
                    entry = {"stream": stream, "first": first, "last": last}
                    segments = [*segments, _entry(file) | entry]
            file = self.folder / f"state-{number:06}.safetensors"
            written.append(file)
            write_arrays(file, arrays, about)
            manifest = {"state": state, "arrays": _entry(file), "replay": segments}
            text = json.dumps(manifest)
            whole = json.dumps({"sha256": _sha256(text.encode()), "checkpoint": text})
            written.append(self._manifest(number))
            write_text(self._manifest(number), whole)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise
        self._segments, self._number = segments, number
        self._prune()
        return file

    def latest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that is whole, and what is wrong with newer ones."""
        problems: list[str] = []
        numbers = self._numbers()
        # The next one gets a number that no damaged one has.
        self._number = numbers[-1] if numbers else 0
        for number in reversed(numbers):
            try:
                checkpoint, segments = self._read(number)
            except DamagedError as damage:
                problems.append(f"checkpoint {number} is damaged ({damage})")
                self._damaged.append(number)
                continue
            self._segments = segments
            return checkpoint, problems
        return None, problems

    def _read(self, number: int) -> tuple[Checkpoint, list[dict[str, Any]]]:
        try:
            whole = json.loads(self._manifest(number).read_text())
            text = whole["checkpoint"]
            if _sha256(text.encode()) != whole["sha256"]:
                raise DamagedError("its manifest does not match its checksum")
            manifest = json.loads(text)
            arrays = read_arrays(self._verified(manifest["arrays"]))[0]
            replay = [
                Piece(str(each["stream"]), int(each["first"]), self._verified(each))
                for each in manifest["replay"]
            ]
            return Checkpoint(number, manifest["state"], arrays, replay), manifest["replay"]
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
            # Other errors of the system do not concern the checkpoint, and are raised as they are.
            raise DamagedError(str(error) or type(error).__name__) from None

    def _verified(self, entry: dict[str, Any]) -> Path:
        # A name, not a path: what a stranger's manifest points to stays in this folder.
        file = self.folder / Path(entry["file"]).name
        if not file.exists():
            raise DamagedError(f"{file.name} is missing")
        if _file_sha256(file) != entry["sha256"]:
            raise DamagedError(f"{file.name} does not match its checksum")
        return file

    def _prune(self) -> None:
        """Removes files of checkpoints that the kept ones do not need, and nothing else."""
        for number in self._damaged:
            self._manifest(number).unlink(missing_ok=True)
        numbers = self._numbers()
        for number in numbers[:-NUM_KEPT]:
            self._manifest(number).unlink(missing_ok=True)
        needed = {self._manifest(number).name for number in numbers[-NUM_KEPT:]}
        for number in numbers[-NUM_KEPT:]:
            try:
                manifest = json.loads(json.loads(self._manifest(number).read_text())["checkpoint"])
                entries = [manifest["arrays"], *manifest["replay"]]
                needed |= {entry["file"] for entry in entries}
            except (ValueError, KeyError, TypeError):
                continue
        for path in self.folder.iterdir():
            if OWN.fullmatch(path.name) and path.name not in needed:
                path.unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        found = self.folder.glob("checkpoint-*.json") if self.folder.is_dir() else []
        stems = [path.stem.removeprefix("checkpoint-") for path in found]
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def _manifest(self, number: int) -> Path:
        return self.folder / f"checkpoint-{number:06}.json"


def _entry(file: Path) -> dict[str, Any]:
    return {"file": file.name, "sha256": _file_sha256(file)}


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
