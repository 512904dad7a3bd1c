"""Drawings as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def save(figure: Any, file: Path, dpi: int = 130, **more: Any) -> Path:
    """Writes a drawing, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.stem}.part{file.suffix}")
    try:
        figure.savefig(part, dpi=dpi, **more)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return file
