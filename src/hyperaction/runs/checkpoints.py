"""Checkpoints: whole, verified, and no longer than what is new.

A checkpoint is a manifest that names its files and their checksums; it is written last, so that
without it nothing counts. A plan of the files is written in its place first, so that what a crash
leaves is known to be this run's: only files that its manifests and plans name are ever removed,
and those of a manifest that was damaged if they say themselves that they are this run's.
Replay only ever grows, so each checkpoint adds files with what has come since the one before, and
shares the older files with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from hyperaction.runs.directory import CHECKPOINTS
from hyperaction.runs.files import write_arrays
from hyperaction.runs.manifests import (
    Arrays,
    Checkpoint,
    DamagedError,
    Piece,
    file_sha256,
    files_of,
    is_plain,
    is_unwritten_plan,
    mark_of,
    marked_files,
    read_checkpoint,
    read_manifest,
    write_manifest,
    write_plan,
)

MAX_PIECE = 50_000
"""Entries per file; that many are copied to be written."""

NUM_KEPT = 2
"""Checkpoints that are kept: the last, and one to fall back on."""

Range = tuple[str, int, int]
"""A stream, the number of an entry of it, and that of the entry after the last."""


class Stream(Protocol):
    """Entries of replay, numbered as they come."""

    @property
    def added(self) -> int:
        """The number of the entry that comes next."""
        ...

    @property
    def oldest(self) -> int:
        """The number of the oldest entry that is still there."""
        ...

    def between(self, first: int, last: int) -> Arrays:
        """Arrays of the entries from one number to another, in the order they came."""
        ...


class Checkpoints:
    """A run's checkpoints.

    Args:
        out: The run's directory.
        run: What tells this run from others, whose checkpoints are neither used nor removed.
    """

    def __init__(self, out: Path, run: str = "") -> None:
        self.folder, self.run = out / CHECKPOINTS, run
        self._pieces: list[Piece] = []
        """Replay in the last checkpoint."""
        self._files: dict[int, list[str]] = {}
        """The files of each of this run's checkpoints, also of those that were not finished."""
        self._good: list[int] = []
        """The checkpoints that can be used."""

    def write(
        self,
        state: dict[str, Any],
        arrays: Arrays,
        replay: Mapping[str, Stream],
        about: dict[str, Any],
    ) -> Path:
        """Writes the next checkpoint; the file with its arrays.

        Args:
            state: Everything that is not an array.
            arrays: What changes as a whole.
            replay: Replay's streams by their names; what is not stored yet is written.
            about: What the file with the arrays says of itself, which makes it an agent's file.
        """
        self.folder.mkdir(exist_ok=True)
        stored = [
            piece
            for piece in self._pieces
            if piece.last > replay[piece.stream].oldest and piece.file.exists()
        ]
        new = list(_missing(replay, stored))
        number = self._free_number(new)
        names = _names(number, new)
        try:
            write_plan(self._manifest(number), self.run, names)
            for name, (stream, first, last) in zip(names[1:], new, strict=True):
                file = self.folder / name
                mark = mark_of(self.run, name)
                write_arrays(file, replay[stream].between(first, last), mark)
                stored.append(Piece(stream, first, last, file, file_sha256(file)))
            stored.sort(key=lambda piece: piece.first)
            file = self.folder / names[0]
            write_arrays(file, arrays, about | mark_of(self.run, file.name))
            manifest = {
                "run": self.run,
                "state": state,
                "arrays": {"file": file.name, "sha256": file_sha256(file)},
                "replay": [piece.as_dict() for piece in stored],
            }
            write_manifest(self._manifest(number), manifest)
        except BaseException:
            self._remove(number, names)
            raise
        self._pieces, self._files[number] = stored, files_of(manifest)
        self._good.append(number)
        self._prune()
        return file

    def latest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that is whole, and what is wrong with newer ones.

        Where none is whole, the newest that lacks a part of replay and nothing else.
        """
        for part in self.folder.glob("checkpoint-*.json.part"):
            if is_unwritten_plan(part, self.run):
                part.unlink()
        problems: list[str] = []
        usable: list[Checkpoint] = []
        for number in reversed(self._numbers()):
            is_found = bool(usable) and not usable[-1].damage
            try:
                manifest = read_manifest(self._manifest(number), self.run)
                self._files[number] = files_of(manifest)
                if not is_found and "plan" not in manifest:
                    usable.append(read_checkpoint(self.folder, number, manifest))
            except DamagedError as damage:
                self._find_files(number)
                if not is_found:
                    problems.append(f"checkpoint {number} is damaged ({damage})")
        if not usable:
            return None, problems
        chosen = usable[0] if usable[-1].damage else usable[-1]
        for each in usable:
            if each.number > chosen.number:
                problems.append(f"checkpoint {each.number} is damaged ({each.damage})")
        self._pieces, self._good = chosen.replay, [chosen.number]
        return chosen, problems

    def _find_files(self, number: int) -> None:
        """Finds the files of a checkpoint whose manifest is damaged, so that they are removed."""
        if number in self._files or not is_plain(self._manifest(number)):
            return
        if names := marked_files(self.folder, number, self.run):
            self._files[number] = names

    def _prune(self) -> None:
        """Removes the files of this run's checkpoints that the kept ones do not need."""
        kept = self._good[-NUM_KEPT:]
        needed = {name for number in kept for name in self._files[number]}
        for number in [number for number in self._files if number not in kept]:
            self._remove(number, [name for name in self._files[number] if name not in needed])
            del self._files[number]
        self._good = kept

    def _remove(self, number: int, names: list[str]) -> None:
        """Removes files of a checkpoint; its manifest last, as it tells whose they are.

        What is no file, such as a directory, was put there by somebody else, and stays.
        """
        for name in (*names, self._manifest(number).name):
            for path in (self.folder / f"{name}.part", self.folder / name):
                if not path.is_dir() or path.is_symlink():
                    path.unlink(missing_ok=True)

    def _free_number(self, new: list[Range]) -> int:
        """The number of the next checkpoint: after all others, and not that of any other file."""
        number = max(self._numbers(), default=0) + 1
        while self._is_taken(number, _names(number, new)):
            number += 1
        return number

    def _is_taken(self, number: int, names: list[str]) -> bool:
        paths = [self._manifest(number), *(self.folder / name for name in names)]
        return any(os.path.lexists(f"{path}{end}") for path in paths for end in ("", ".part"))

    def _numbers(self) -> list[int]:
        found = self.folder.glob("checkpoint-*.json") if self.folder.is_dir() else []
        stems = {path.name: path.stem.removeprefix("checkpoint-") for path in found}
        numbers = [int(stem) for stem in stems.values() if stem.isdecimal()]
        return sorted(number for number in numbers if self._manifest(number).name in stems)

    def _manifest(self, number: int) -> Path:
        return self.folder / f"checkpoint-{number:06}.json"


def _missing(replay: Mapping[str, Stream], stored: list[Piece]) -> Iterator[Range]:
    """What no piece holds of the streams, in ranges of a file each."""
    for name, stream in replay.items():
        at = stream.oldest
        held = [(piece.first, piece.last) for piece in stored if piece.stream == name]
        for first, last in [*held, (stream.added, stream.added)]:
            for start in range(at, first, MAX_PIECE):
                yield name, start, min(start + MAX_PIECE, first)
            at = max(at, last)


def _names(number: int, new: list[Range]) -> list[str]:
    """The files of a checkpoint: that with its arrays, then what is new of replay."""
    pieces = [f"{stream}-{number:06}-{first}.safetensors" for stream, first, _ in new]
    return [f"state-{number:06}.safetensors", *pieces]
