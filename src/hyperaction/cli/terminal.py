"""What commands share at the terminal: errors in one line, progress, what must be installed."""

from __future__ import annotations

import difflib
from importlib.util import find_spec
from typing import Any


class UserError(Exception):
    """What a user did: told in one line, without a traceback."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


STOPPED = 130
"""The exit code of what was asked to stop."""


def unknown(kind: str, name: str, names: list[str]) -> str:
    """That nothing has this name, and which one was meant."""
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(names)}"
    return f"no {kind} is called '{name}'; {hint} (hyperaction --help)"


def told(error: Exception) -> str:
    """What went wrong, as people say it; the system's words have numbers."""
    if not isinstance(error, OSError) or not error.strerror or error.filename is None:
        return str(error)
    if isinstance(error, FileExistsError):
        return f"{error.filename} is a file, not a directory"
    return f"{error.filename}: {error.strerror}"


def progress_bar(console: Any, *more: str) -> Any:
    """A bar with the time left; nothing but the end where the output is not a terminal."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("spent"),
        TimeElapsedColumn(),
        *(TextColumn(text) for text in more),
        console=console,
        speed_estimate_period=300,
    )


def need(module: str, *, extra: str, unless: str = "") -> None:
    """Refuses to go on without a module that an extra brings."""
    if find_spec(module) is None:
        otherwise = f" (or {unless})" if unless else ""
        raise UserError(f"this needs {module}: pip install 'hyperaction[{extra}]'{otherwise}")
