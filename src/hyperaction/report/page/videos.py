"""Videos in the directories of runs."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

Video = tuple[str, Path]
"""A name and a file."""


def find_videos(runs: Sequence[tuple[str, Path]]) -> list[Video]:
    """The `.mp4` files in the directories of runs."""
    return [
        (f"{name}: {file.name}", file)
        for name, out in runs
        for file in sorted(out.glob("*.mp4"))
        if file.is_file() and not file.is_symlink() and not file.name.startswith(".")
    ]


def link_videos(videos: Sequence[Video], folder: Path, *, embed: bool) -> list[dict[str, str]]:
    """Their addresses relative to the folder of the page, or data URLs with their content."""
    links = []
    for name, file in videos:
        if embed:
            text = base64.b64encode(file.read_bytes()).decode()
            address = f"data:video/mp4;base64,{text}"
        else:
            address = quote(os.path.relpath(file, folder).replace(os.sep, "/"))
        links.append({"name": name, "src": address})
    return links
