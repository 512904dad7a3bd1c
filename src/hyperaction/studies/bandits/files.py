"""The directory of the study: its settings, a file per cell, and the table of all errors."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.runs.files import replacing, write_json
from hyperaction.runs.reader import read_json
from hyperaction.runs.schema import SEED, UnreadableError, check
from hyperaction.studies.bandits.settings import BanditStudy, Cell


def cell_file(out: Path, cell: Cell) -> Path:
    """The file of a cell."""
    return out / "cells" / f"{cell.size}-{cell.model}.npz"


def save_cell(file: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Writes the arrays of a cell."""
    with replacing(file) as part, part.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def load_errors(file: Path) -> NDArray[np.float32]:
    """The errors of a cell so far, `[trials, iterations]`."""
    return _load(file, "errors")


def load_reward_rms(file: Path) -> NDArray[np.float32]:
    """The error of predicting zero for every action, `[trials]`."""
    return _load(file, "reward_rms")


def _load(file: Path, name: str) -> NDArray[np.float32]:
    try:
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as data:
            return data[name]
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is damaged ({error}); delete it to train it again") from None


def settings_of(study: BanditStudy) -> dict[str, int]:
    """The settings that all results in a directory share.

    Sizes and models may differ: cells that are there already are not trained again.
    """
    return {"trials": study.trials, "iterations": study.iterations, "seed": study.seed}


def check_settings(study: BanditStudy) -> None:
    """Raises `ValueError` if the directory holds a study with other settings."""
    file = study.out / "settings.json"
    if not file.exists():
        return
    settings = settings_of(study)
    try:
        stored = read_json(file, lambda content: check(content, dict.fromkeys(settings, SEED)))
    except UnreadableError:
        raise ValueError(f"{file} is damaged; delete {study.out} or choose another --out") from None
    differences = [
        f"--{name} {stored[name]} (not {value})"
        for name, value in settings.items()
        if stored[name] != value
    ]
    if differences:
        raise ValueError(
            f"{study.out} holds a study with {' and '.join(differences)}; "
            f"repeat those settings to resume it, or choose another --out"
        )


def write_settings(study: BanditStudy) -> None:
    """Writes the settings that the directory belongs to."""
    check_settings(study)
    write_json(study.out / "settings.json", settings_of(study))


def write_csv(study: BanditStudy, errors: dict[Cell, NDArray[np.float32]]) -> Path:
    """Writes a line per size, model, trial and iteration; returns the file."""
    file = study.out / "rms.csv"
    with replacing(file) as part, part.open("w") as handle:
        handle.write("size,model,trial,iteration,rms\n")
        for cell, table in errors.items():
            for trial, row in enumerate(table):
                handle.writelines(
                    f"{cell.size},{cell.model},{trial},{iteration},{rms:.6g}\n"
                    for iteration, rms in enumerate(row.tolist(), start=1)
                )
    return file
