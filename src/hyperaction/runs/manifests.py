"""Manifests: what a checkpoint consists of, verified when it is read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from hyperaction.runs.files import read_about, read_arrays, write_text
from hyperaction.runs.reader import read_bytes

Arrays = dict[str, NDArray[Any]]

NOT_A_CHECKPOINT = (
    FileNotFoundError, IsADirectoryError, ValueError, KeyError, TypeError, AttributeError,
    RecursionError,
)  # fmt: skip
"""What reading raises where a checkpoint is not what it should be."""


class Piece(NamedTuple):
    """A part of a stream, in a file."""

    stream: str
    first: int
    """The number of its first entry."""
    last: int
    """The number of the entry that comes after it."""
    file: Path
    sha256: str

    def read(self) -> Arrays:
        """Its entries; one piece at a time, as all may be more than a machine holds twice."""
        return read_arrays(self.file)[0]

    def as_dict(self) -> dict[str, Any]:
        """The piece as a manifest names it."""
        return self._asdict() | {"file": self.file.name}


class Checkpoint(NamedTuple):
    """What a run needs to resume."""

    number: int
    state: dict[str, Any]
    """Everything that is not an array, ready for JSON."""
    file: Path
    """What holds its arrays, which is an agent's file too."""
    arrays: Arrays
    replay: list[Piece]
    """What replay holds and no more, in the order it came; of a stream with a damaged file, what
    came after it."""
    lost_before: dict[str, int]
    """Of streams with a damaged file, the number of the first entry after it."""
    damage: str
    """What is wrong with the files of replay, if anything."""


class DamagedError(Exception):
    """A checkpoint that cannot be used."""


def write_plan(path: Path, run: str, names: list[str]) -> None:
    """Writes which files a checkpoint is going to have."""
    write_text(path, json.dumps({"run": run, "plan": names}))


def is_unwritten_plan(path: Path, run: str) -> bool:
    """Whether this is the temporary file of a run's plan, as a kill leaves it: begun, or empty."""
    content = read_bytes(path) if is_plain(path) else b"of another"
    return not content or content.startswith(json.dumps({"run": run})[:-1].encode())


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Writes a manifest with its own checksum."""
    text = json.dumps(manifest)
    write_text(path, json.dumps({"sha256": _sha256(text), "checkpoint": text}))


def read_manifest(path: Path, run: str) -> dict[str, Any]:
    """A manifest of a run, or the plan of a checkpoint that was not finished."""
    try:
        content = json.loads(read_bytes(path))
        if "plan" not in content:
            text = content["checkpoint"]
            if _sha256(text) != content["sha256"]:
                raise DamagedError("its manifest does not match its checksum")
            content = json.loads(text)
        if content.get("run", run) != run:
            raise DamagedError("it is of another run")
        files_of(content)
        return dict(content)
    except NOT_A_CHECKPOINT as error:
        raise DamagedError(str(error) or type(error).__name__) from None


def read_checkpoint(folder: Path, number: int, manifest: dict[str, Any]) -> Checkpoint:
    """The checkpoint of a manifest, with all files verified."""
    try:
        entry = manifest["arrays"]
        if problem := _problem(folder / _name(entry), entry["sha256"]):
            raise DamagedError(problem)
        file = folder / _name(entry)
        arrays = read_arrays(file)[0]
        pieces = [_piece(folder, each) for each in manifest["replay"]]
        problems = {piece: _problem(piece.file, piece.sha256) for piece in pieces}
        lost_before = {piece.stream: piece.last for piece in pieces if problems[piece]}
        whole = [piece for piece in pieces if piece.first >= lost_before.get(piece.stream, 0)]
        damage = ", ".join(problem for problem in problems.values() if problem)
        return Checkpoint(number, manifest["state"], file, arrays, whole, lost_before, damage)
    except NOT_A_CHECKPOINT as error:
        # Other errors of the system do not concern the checkpoint, and are raised as they are.
        raise DamagedError(str(error) or type(error).__name__) from None


def _piece(folder: Path, entry: dict[str, Any]) -> Piece:
    first, last = int(entry["first"]), int(entry["last"])
    return Piece(str(entry["stream"]), first, last, folder / _name(entry), str(entry["sha256"]))


def _problem(file: Path, sha256: str) -> str:
    """What is wrong with a file, if anything."""
    if not file.is_file():
        return f"{file.name} is missing"
    return "" if file_sha256(file) == sha256 else f"{file.name} does not match its checksum"


def files_of(manifest: dict[str, Any]) -> list[str]:
    """The names of the files that a manifest, or a plan, is about."""
    if "plan" in manifest:
        return [_name({"file": name}) for name in manifest["plan"]]
    return [_name(entry) for entry in (manifest["arrays"], *manifest["replay"])]


def is_plain(path: Path) -> bool:
    """Whether this is a file, and not a link to one."""
    return path.is_file() and not path.is_symlink()


def mark_of(run: str, name: str) -> dict[str, str]:
    """What a file says of itself, so that it is known to be this run's without its manifest."""
    return {"run": run, "file": name}


def marked_files(folder: Path, number: int, run: str) -> list[str]:
    """The files of a run's checkpoint by what they say of themselves; copies say another name."""
    found = []
    for file in sorted(folder.glob(f"*-{number:06}*.safetensors")):
        about = read_about(file) if is_plain(file) else None
        if isinstance(about, dict) and about | mark_of(run, file.name) == about:
            found.append(file.name)
    return found


def _name(entry: dict[str, Any]) -> str:
    # A name, not a path: what a stranger's manifest points to stays in this folder.
    return Path(entry["file"]).name


def file_sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
