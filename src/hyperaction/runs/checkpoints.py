"""Checkpoints: whole, verified, and no longer than what is new.

A checkpoint is a manifest that names its files and their checksums; it is written last, so that
without it nothing counts. Replay only ever grows, so each checkpoint adds one file with the
transitions since the one before, and shares the older files with it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperaction.runs.arrays import read_arrays, write_arrays, write_whole

KEPT = 2
"""Checkpoints that are kept: the last, and one to fall back on."""

Arrays = dict[str, NDArray[Any]]


class Checkpoint(NamedTuple):
    """What a run needs to go on."""

    number: int
    state: dict[str, Any]
    """Everything that is not an array, ready for JSON."""
    arrays: Arrays
    replay: list[tuple[int, Arrays]]
    """Transitions in the order they came, in pieces, each with the number of its first."""


class DamagedError(Exception):
    """A checkpoint that cannot be used."""


class Checkpoints:
    """A run's checkpoints."""

    def __init__(self, out: Path) -> None:
        self.folder = out / "checkpoints"
        self._segments: list[dict[str, Any]] = []
        self._number = 0
        self._damaged: list[int] = []

    def write(
        self, state: dict[str, Any], arrays: Arrays, replay: Arrays, *, first: int, keep_from: int
    ) -> Path:
        """Writes the next checkpoint; the file with its arrays.

        Args:
            state: Everything that is not an array.
            arrays: What changes as a whole.
            replay: The transitions since the last checkpoint, in the order they came.
            first: The number of the first of them.
            keep_from: The first transition that replay still holds.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        number = self._number + 1
        added = len(next(iter(replay.values())))
        segments = [each for each in self._segments if each["last"] > keep_from]
        written: list[Path] = []
        try:
            if added:
                file = self.folder / f"replay-{number:06}.safetensors"
                written.append(file)
                write_arrays(file, replay, {"first": first})
                segments = [*segments, _entry(file) | {"first": first, "last": first + added}]
            file = self.folder / f"state-{number:06}.safetensors"
            written.append(file)
            write_arrays(file, arrays, state["agent"])
            manifest = {"state": state, "arrays": _entry(file), "replay": segments}
            text = json.dumps(manifest)
            whole = json.dumps({"sha256": _sha256(text.encode()), "checkpoint": text})
            written.append(self._manifest(number))
            write_whole(self._manifest(number), whole)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
            raise
        self._segments, self._number = segments, number
        self._prune()
        return file

    def latest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that is whole, and what is wrong with newer ones."""
        problems = []
        numbers = self._numbers()
        for number in reversed(numbers):
            try:
                checkpoint, segments = self._read(number)
            except DamagedError as damage:
                problems.append(f"checkpoint {number} is damaged ({damage})")
                self._damaged.append(number)
                continue
            # The next one gets a number that no damaged one has.
            self._segments, self._number = segments, numbers[-1]
            return checkpoint, problems
        return None, problems

    def _read(self, number: int) -> tuple[Checkpoint, list[dict[str, Any]]]:
        try:
            whole = json.loads(self._manifest(number).read_text())
            text = whole["checkpoint"]
            if _sha256(text.encode()) != whole["sha256"]:
                raise DamagedError("its manifest does not match its checksum")
            manifest = json.loads(text)
            arrays = self._verified(manifest["arrays"])
            replay = [(each["first"], self._verified(each)) for each in manifest["replay"]]
            return Checkpoint(number, manifest["state"], arrays, replay), manifest["replay"]
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
            # Other errors of the system say nothing of the checkpoint, and are told as they are.
            raise DamagedError(str(error) or type(error).__name__) from None

    def _verified(self, entry: dict[str, Any]) -> Arrays:
        # A name, not a path: what a stranger's manifest points to stays in this folder.
        file = self.folder / Path(entry["file"]).name
        if not file.exists():
            raise DamagedError(f"{file.name} is missing")
        if _sha256(file.read_bytes()) != entry["sha256"]:
            raise DamagedError(f"{file.name} does not match its checksum")
        return read_arrays(file)[0]

    def _prune(self) -> None:
        """Removes what the kept checkpoints do not need."""
        for number in self._damaged:
            self._manifest(number).unlink(missing_ok=True)
        numbers = self._numbers()
        for number in numbers[:-KEPT]:
            self._manifest(number).unlink(missing_ok=True)
        needed = {self._manifest(number).name for number in numbers[-KEPT:]}
        for number in numbers[-KEPT:]:
            try:
                manifest = json.loads(json.loads(self._manifest(number).read_text())["checkpoint"])
                entries = [manifest["arrays"], *manifest["replay"]]
                needed |= {entry["file"] for entry in entries}
            except (ValueError, KeyError, TypeError):
                continue
        for path in self.folder.iterdir():
            if path.name not in needed:
                path.unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        found = self.folder.glob("checkpoint-*.json") if self.folder.is_dir() else []
        stems = [path.stem.removeprefix("checkpoint-") for path in found]
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def _manifest(self, number: int) -> Path:
        return self.folder / f"checkpoint-{number:06}.json"


def _entry(file: Path) -> dict[str, Any]:
    return {"file": file.name, "sha256": _sha256(file.read_bytes())}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def concatenated(pieces: list[tuple[int, Arrays]], start: int) -> Arrays:
    """The transitions from a number on, from the pieces that hold them."""
    if not pieces:
        return {}
    names = pieces[0][1]
    return {
        name: np.concatenate([arrays[name][max(0, start - first) :] for first, arrays in pieces])
        for name in names
    }
