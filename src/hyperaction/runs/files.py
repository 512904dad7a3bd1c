"""Files that are written completely or not at all: text, JSON and named arrays.

Arrays are stored as safetensors, a format that cannot hold code.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from hyperaction.runs.reader import parse_json


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the same directory, whose file replaces `path` at the end.

    If the block raises, `path` stays as it was and the temporary file is removed. The directory is
    created if it does not exist.
    """
    check_is_no_directory(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)  # It may be a link to something else.
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def making_directory(path: Path) -> Iterator[None]:
    """Makes a directory, so that one that cannot be is reported before the block's work.

    If the block raises, what was made is removed again, unless something is in it.
    """
    missing = [each for each in (path, *path.parents) if not os.path.lexists(each)]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


def check_is_no_directory(path: Path) -> None:
    """Raises `OSError` where a directory has the name of a file to be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file")


def write_text(path: Path, text: str) -> Path:
    """Writes a text file; returns its path."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, content: Any) -> Path:
    """Writes an indented JSON file; returns its path."""
    return write_text(path, json.dumps(content, indent=2) + "\n")


def write_arrays(path: Path, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
    """Writes named arrays and metadata."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    # Reshaped because a contiguous copy of a scalar has one axis.
    contiguous = {name: array.reshape(np.shape(arrays[name])) for name, array in contiguous.items()}
    try:
        with replacing(path) as part:
            text = json.dumps(about)
            metadata = {"about": text, "crc32": _checksum(contiguous, text)}
            save_file(contiguous, part, metadata=metadata)
            part.chmod(0o666 & ~_umask())  # Safetensors makes files private to their owner.
    except SafetensorError as error:
        raise OSError(f"{path} could not be written: {error}") from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the metadata of a file, if they match its checksum."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text, checksum = metadata["about"], metadata["crc32"]
        about = parse_json(text)
    except (SafetensorError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} holds no agent of this version: {error}") from None
    if _checksum(arrays, text) != checksum:
        raise ValueError(f"{path} is damaged: it does not match its checksum")
    return arrays, about


def read_about(path: Path) -> Any:
    """The metadata of a file alone, unverified; None where it cannot be read."""
    try:
        with safe_open(path, framework="numpy") as file:
            return parse_json((file.metadata() or {})["about"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError):
        return None


def _checksum(arrays: dict[str, NDArray[Any]], text: str) -> str:
    """The checksum of named arrays and a text: of names, types, shapes and every byte."""
    sum_so_far = zlib.crc32(text.encode())
    for name, array in sorted(arrays.items()):
        header = f"{name} {array.dtype.str} {array.shape}"
        sum_so_far = zlib.crc32(header.encode(), sum_so_far)
        sum_so_far = zlib.crc32(array.reshape(-1).view(np.uint8).data, sum_so_far)
    return f"{sum_so_far:08x}"
