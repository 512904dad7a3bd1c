"""How far a run is: a small file that is written over and over, for whoever looks."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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
    """Whether all steps that were asked for are done and judged."""


def write_progress(out: Path, progress: Progress) -> None:
    """Writes it, if that can be done: nothing depends on it."""
    part = out / f"{FILE}.part"
    with suppress(OSError):
        part.write_text(json.dumps(progress._asdict()))
        os.replace(part, out / FILE)


def read_progress(out: Path) -> Progress:
    """What was written last; nothing yet is no progress."""
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
