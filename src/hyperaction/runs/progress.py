"""How far a run is: a small file that is overwritten as it trains."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hyperaction.runs.files import write_text
from hyperaction.runs.reader import parse_json, read_bytes
from hyperaction.runs.remote import RESULTS as READ
from hyperaction.runs.remote import file_system, url_of
from hyperaction.runs.schema import PROGRESS_SCHEMA, check

FILE = "progress.json"

RESULTS = tuple(name for name in READ if name != FILE)
"""What a complete run has."""
AGENT = "agent.safetensors"


class Progress(NamedTuple):
    """How far a run is."""

    step: int = 0
    steps_per_second: float = 0.0
    """Over the last half minute."""
    last_return: float | None = None
    """The last evaluation's."""
    complete: bool = False
    """Whether all steps that were asked for are done and evaluated."""
    has_agent: bool = True
    """Whether the agent is stored when it is complete; a baseline's is not."""


def write_progress(out: Path, progress: Progress) -> None:
    """Writes it, if that can be done: nothing depends on it."""
    with suppress(OSError):
        write_text(out / FILE, json.dumps(progress._asdict()))


def read_progress(out: Path) -> Progress:
    """What was written last; no progress without a file, or where the results are gone."""
    try:
        url = url_of(out)
        if url is None:
            progress = _parse(read_bytes(out / FILE))
            there = _is_whole(progress, lambda name: _has_content(out / name))
        else:
            system, root = file_system(url)
            progress = _parse(system.cat_file(f"{root}/{FILE}"))
            there = _is_whole(progress, lambda name: system.exists(f"{root}/{name}"))
        return progress if there else Progress()
    except (OSError, ValueError):
        return Progress()


def _parse(data: bytes) -> Progress:
    content = check(parse_json(data), PROGRESS_SCHEMA)
    return Progress(**{name: content[name] for name in Progress._fields if name in content})


def _is_whole(progress: Progress, has: Callable[[str], bool]) -> bool:
    """Whether a run that is complete has its results."""
    names = [name for name in RESULTS if name != AGENT or progress.has_agent]
    return not progress.complete or all(has(name) for name in names)


def _has_content(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0
