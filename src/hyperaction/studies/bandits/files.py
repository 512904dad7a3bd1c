"""The study's directory: which settings it belongs to, its cells and its table of errors."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.studies.bandits.settings import BanditStudy, Cell


def cell_file(out: Path, cell: Cell) -> Path:
    """Where a cell is kept."""
    return out / "cells" / f"{cell.size}-{cell.model}.npz"


def replace_file(file: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Writes a file so that it is either the old one or the whole new one, whatever happens."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as handle:
            write(handle)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def load_errors(file: Path) -> NDArray[np.float32]:
    """A cell's errors so far, `[trials, iterations]`."""
    return _load(file, "errors")


def load_reward_rms(file: Path) -> NDArray[np.float32]:
    """The error of predicting zero for every action, `[trials]`."""
    return _load(file, "reward_rms")


def _load(file: Path, name: str) -> NDArray[np.float32]:
    try:
        with np.load(file, allow_pickle=False) as data:
            return data[name]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is damaged ({error}); delete it to train it again") from None


def claim(study: BanditStudy) -> None:
    """Makes the directory this study's, or refuses one that holds a study of other settings.

    Sizes and models may differ: what they have in common is kept, and the rest is trained.
    """
    settings = {"trials": study.trials, "iterations": study.iterations, "seed": study.seed}
    file = study.out / "settings.json"
    if file.exists():
        try:
            held = json.loads(file.read_text())
            differences = [
                f"--{name} {held[name]} (not {value})"
                for name, value in settings.items()
                if held[name] != value
            ]
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"{file} is damaged; delete {study.out} or choose another --out"
            ) from None
        if differences:
            raise ValueError(
                f"{study.out} holds a study with {' and '.join(differences)}; "
                f"repeat those settings to continue it, or choose another --out"
            )
    (study.out / "cells").mkdir(parents=True, exist_ok=True)
    write_json(file, settings)


def write_json(file: Path, content: Any) -> Path:
    """Writes a JSON file, readable to people too."""
    replace_file(file, lambda handle: handle.write(f"{json.dumps(content, indent=2)}\n".encode()))
    return file


def write_csv(study: BanditStudy, errors: dict[Cell, NDArray[np.float32]]) -> Path:
    """One line per size, model, trial and iteration."""

    def write(handle: IO[bytes]) -> None:
        handle.write(b"size,model,trial,iteration,rms\n")
        for cell, table in errors.items():
            for trial, row in enumerate(table):
                lines = (
                    f"{cell.size},{cell.model},{trial},{iteration},{rms:.6g}\n"
                    for iteration, rms in enumerate(row.tolist(), start=1)
                )
                handle.write("".join(lines).encode())

    file = study.out / "rms.csv"
    replace_file(file, write)
    return file
