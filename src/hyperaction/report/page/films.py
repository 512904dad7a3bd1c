"""Films in the directories of runs."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

Film = tuple[str, Path]
"""A name, and the file."""


def find(runs: Sequence[tuple[str, Path]]) -> list[Film]:
    """The films that lie in the directories of runs."""
    return [
        (f"{name}: {file.name}", file)
        for name, out in runs
        for file in sorted(out.glob("*.mp4"))
        if not file.is_symlink() and not file.name.startswith(".")
    ]


def linked(films: Sequence[Film], folder: Path, *, embed: bool) -> list[dict[str, str]]:
    """Their addresses as seen from the page's folder, or the films themselves."""
    found = []
    for name, file in films:
        if embed:
            text = base64.b64encode(file.read_bytes()).decode()
            address = f"data:video/mp4;base64,{text}"
        else:
            address = quote(os.path.relpath(file, folder).replace(os.sep, "/"))
        found.append({"name": name, "src": address})
    return found
