"""Files that are whole or not there: text, and named arrays (safetensors, which hold no code)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file


def write_arrays(path: Path, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
    """Writes arrays and what is to be known about them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        # Reshaped: a contiguous copy of a single number has one axis too many.
        whole = {name: array.reshape(np.shape(arrays[name])) for name, array in whole.items()}
        save_file(whole, part, metadata={"about": json.dumps(about)})
        with part.open("rb") as file:
            os.fchmod(file.fileno(), 0o666 & ~_umask())  # Safetensors writes for its user alone.
            os.fsync(file.fileno())
        os.replace(part, path)
    except SafetensorError as error:
        raise OSError(f"{path} could not be written: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_whole(path: Path, text: str) -> None:
    """Writes a text file, whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a file, and what is to be known about them."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} holds no agent: {error}") from None
