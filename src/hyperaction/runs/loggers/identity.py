"""What a service calls a run: an id of its own, stored beside the run."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from hyperaction.runs.files import write_json
from hyperaction.runs.reader import read_config, read_json
from hyperaction.runs.schema import TEXT, UnreadableError, check

PROJECT = "hyperaction"


def run_id(out: Path, service: str, step: int) -> str:
    """The id of a run in a service: what it had before where it resumes, otherwise a new one."""
    file = out / f"{service}.json"
    if step:
        try:
            return str(read_json(file, lambda content: check(content, {"id": TEXT}))["id"])
        except UnreadableError:
            pass  # The run had no such logger before.
    new = secrets.token_hex(4)
    write_json(file, {"id": new})
    return new


def run_settings(out: Path) -> dict[str, Any]:
    """The settings of the run; none where there is only a directory."""
    try:
        return read_config(out)
    except UnreadableError:
        return {}


def run_name(settings: dict[str, Any], identity: str) -> str:
    """A name that a person recognises the run by, and that no other has."""
    parts = [settings.get("agent"), settings.get("env"), identity]
    return " ".join(str(part) for part in parts if part)
