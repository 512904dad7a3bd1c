"""How far a run is: a small file that is overwritten as it trains."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hyperaction.runs.files import write_text
from hyperaction.runs.remote import file_system, url_of

FILE = "progress.json"


class Progress(NamedTuple):
    """How far a run is."""

    step: int = 0
    steps_per_second: float = 0.0
    """Over the last half minute."""
    last_return: float | None = None
    """The last evaluation's."""
    complete: bool = False
    """Whether all steps that were asked for are done and evaluated."""


def write_progress(out: Path, progress: Progress) -> None:
    """Writes it, if that can be done: nothing depends on it."""
    with suppress(OSError):
        write_text(out / FILE, json.dumps(progress._asdict()))


def read_progress(out: Path) -> Progress:
    """What was written last; without a file, no progress."""
    try:
        url = url_of(out)
        if url is None:
            text = (out / FILE).read_text()
        else:
            system, root = file_system(url)
            text = system.cat_file(f"{root}/{FILE}").decode()
        return Progress(**json.loads(text))
    except (OSError, ValueError, TypeError):
        return Progress()
