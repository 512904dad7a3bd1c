"""Videos in the directories of runs."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

Video = tuple[str, Path]
"""A name and a file."""

POSTER_WIDTH = 960
POSTER_TIMEOUT_S = 20.0
POSTER_FRAMES = 60
"""How many of the first frames the poster is chosen from."""


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
            address = _data_url("video/mp4", file.read_bytes())
        else:
            address = quote(os.path.relpath(file, folder).replace(os.sep, "/"))
        links.append({"name": name, "src": address, "poster": poster(file)})
    return links


def poster(file: Path) -> str:
    """A picture of a video as a data URL; empty if none can be taken from it."""
    try:
        about = file.stat()
    except OSError:
        return ""
    return _poster(file, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=256)
def _poster(file: Path, changed: int, size: int) -> str:
    """The picture of a file of this time and size, of which a page that is served asks often."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        command = [
            get_ffmpeg_exe(), "-v", "error", "-nostdin", "-protocol_whitelist", "file,pipe",
            "-f", "mp4", "-i", f"file:{file.resolve()}", "-frames:v", "1",
            "-vf", f"thumbnail={POSTER_FRAMES},scale='min({POSTER_WIDTH},iw)':-2",
            "-f", "image2pipe", "-c:v", "mjpeg", "-q:v", "4", "-",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, timeout=POSTER_TIMEOUT_S, check=True)
    except (ImportError, OSError, RuntimeError, subprocess.SubprocessError):
        return ""
    return _data_url("image/jpeg", done.stdout) if done.stdout else ""


def _data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
