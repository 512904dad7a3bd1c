"""The files of a run as they are read: of bounded size, and checked against what a run writes.

A run may be damaged, half deleted or a stranger's, so every file of ours is read here. Numbers that
are not finite are refused but for metrics, where a return may be NaN or infinite: a diverged run
has one, curves leave it out, and scores are refused because of it.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 2
"""The version of what is in a run's directory."""

CONFIG, METRICS = "config.json", "metrics.jsonl"

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 16
MAX_STEP = 2**53 - 1
"""Integers up to this one are the same in JavaScript."""
MAX_INTEGER = 2**63 - 1
MAX_NUMBER = 1e100
"""Sums of numbers up to this one are finite."""


class UnreadableError(ValueError):
    """A file that is missing, or is not what a run writes."""


class Kind(NamedTuple):
    """What a value must be."""

    name: str
    fits: Callable[[Any], bool]
    optional: bool = False


def _is_integer(value: Any, high: int = MAX_STEP) -> bool:
    return type(value) is int and 0 <= value <= high


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and not MAX_NUMBER < abs(value) < math.inf


def _is_finite(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value)


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_size(value: Any) -> bool:
    return _is_integer(value) and value > 0


def _is_level(value: Any) -> bool:
    return is_list(value, _is_finite)


TEXT = Kind("text", lambda value: isinstance(value, str) and 0 < len(value) <= 1000)
COUNT = Kind("an integer of at least 0", _is_integer)
SEED = Kind("an integer from 0 to 2^63 - 1", lambda value: _is_integer(value, MAX_INTEGER))
NUMBER = Kind("a number", _is_number)
FINITE = Kind("a finite number", _is_finite)
SPEED = Kind("a speed", lambda value: _is_finite(value) and (value == 0 or value > 1e-9))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TABLE = Kind("a table", lambda value: isinstance(value, dict))
COUNTS = Kind("a list of integers", lambda value: is_list(value, _is_integer))
SIZES = Kind("a list of integers above 0", lambda value: is_list(value, _is_size))
TEXTS = Kind("a list of texts", lambda value: is_list(value, lambda each: isinstance(each, str)))

Schema = Mapping[str, Kind]

CONFIG_SCHEMA: Schema = {
    "env": TEXT,
    "agent": TEXT,
    "steps": COUNT,
    "seed": SEED,
    "settings": TABLE,
    "preset": TEXT._replace(optional=True),
    "max_episode_steps": COUNT._replace(optional=True),
    "roms": Kind("text", lambda value: isinstance(value, str), optional=True),
}
"""What `config.json` has; what else is in it may be anything finite that is not too deep."""

METRICS_SCHEMA: Schema = {"kind": TEXT, "step": COUNT, "return": NUMBER._replace(optional=True)}
"""What a line of `metrics.jsonl` has; all else in it are numbers."""

PROGRESS_SCHEMA: Schema = {
    "step": COUNT,
    "steps_per_second": SPEED,
    "last_return": Kind("a number", lambda value: value is None or _is_number(value)),
    "complete": FLAG,
}

AGENT_SCHEMA: Schema = {
    "hyperaction": TEXT,
    "agent": TEXT,
    "settings": TABLE,
    "actions": TABLE,
    "observation_shape": COUNTS,
    "step": COUNT,
}
"""What the file of an agent says of itself."""

ACTION_SCHEMA: Schema = {
    "kind": TEXT,
    "sizes": SIZES._replace(optional=True),
    "shape": COUNTS._replace(optional=True),
    "dtype": TEXT._replace(optional=True),
    "start": Kind("integers", lambda value: _is_int(value) or is_list(value, _is_int), True),
    "actions": COUNTS._replace(optional=True),
    "low": Kind("a list of numbers", lambda value: is_list(value, _is_finite), optional=True),
    "high": Kind("a list of numbers", lambda value: is_list(value, _is_finite), optional=True),
    "levels": Kind("lists of numbers", lambda value: is_list(value, _is_level), optional=True),
}
"""How the file of an agent describes actions; which of these it has depends on their kind."""


def is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    """Whether a value is a list of fitting values."""
    return isinstance(value, list) and all(fits(each) for each in value)


def check(content: Any, schema: Schema) -> dict[str, Any]:
    """A table as a schema has it, or `UnreadableError` with the first difference."""
    if not isinstance(content, dict):
        raise UnreadableError(f"it holds {_short(content)}, not a table")
    for name, kind in schema.items():
        if name not in content:
            if kind.optional:
                continue
            raise UnreadableError(f"{name} is missing")
        if not kind.fits(content[name]):
            raise UnreadableError(f"{name} is {_short(content[name])}, not {kind.name}")
    return content


def read_bytes(file: Path) -> bytes:
    """The content of a regular file; anything else of that name does not block."""
    try:
        # Opening a pipe would wait for somebody to write into it.
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as opened:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise UnreadableError(f"{file} is not a file")
            if about.st_size > MAX_BYTES:
                raise UnreadableError(f"{file} is larger than {MAX_BYTES // 2**20} MB")
            return opened.read(MAX_BYTES)
    except IsADirectoryError:
        raise UnreadableError(f"{file} is not a file") from None
    except OSError as error:
        raise UnreadableError(f"{file}: {error.strerror}") from None


def parse_json(data: bytes | str) -> Any:
    """JSON with integers of bounded size; raises nothing but `UnreadableError`."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        content = json.loads(text, parse_int=_integer)
    except UnreadableError:
        raise
    except UnicodeDecodeError:
        raise UnreadableError("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        reason = error if isinstance(error, ValueError) else "too deep"
        raise UnreadableError(f"it is not JSON: {reason}") from None
    _check_depth(content, MAX_DEPTH)
    return content


def _integer(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > MAX_INTEGER:
        raise UnreadableError(f"the integer {_short(digits)} is too large")
    return int(digits)


def _check_depth(content: Any, left: int) -> None:
    inner = content.values() if isinstance(content, dict) else content
    if isinstance(content, dict | list):
        if not left:
            raise UnreadableError(f"it is nested more than {MAX_DEPTH} deep")
        for each in inner:
            _check_depth(each, left - 1)


def _check_finite(content: Any, name: str = "") -> None:
    if isinstance(content, dict | list):
        parts = content.items() if isinstance(content, dict) else enumerate(content)
        for key, each in parts:
            _check_finite(each, f"{name}.{key}".lstrip("."))
    elif isinstance(content, float) and not _is_finite(content):
        raise UnreadableError(f"{name} is {content}, not a finite number")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def read_json(file: Path) -> Any:
    """A file of JSON whose numbers are finite."""
    data = read_bytes(file)
    try:
        content = parse_json(data)
        _check_finite(content)
    except UnreadableError as error:
        raise UnreadableError(f"{file} is damaged: {error}") from None
    return content


def read_config(out: Path) -> dict[str, Any]:
    """A run's settings."""
    file = out / CONFIG
    if not os.path.lexists(file):
        raise UnreadableError(f"{out} holds no run: there is no {file.name} in it")
    config = read_json(file)
    try:
        check(config, CONFIG_SCHEMA)
    except UnreadableError as error:
        raise UnreadableError(f"{file} is damaged: {error}") from None
    if config.get("format") != FORMAT:
        raise UnreadableError(
            f"{file} was written by another version of hyperaction; train --fresh starts over"
        )
    return dict(config)


class Metrics(NamedTuple):
    """The metrics of a run."""

    rows: list[dict[str, Any]]
    problem: str
    """Which lines were left out and why, in one line; empty if all are right."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Those of one kind, by increasing step."""
        return [row for row in self.rows if row["kind"] == kind]


def read_metrics(out: Path) -> Metrics:
    """A run's metrics; none if there is no such file yet."""
    file = out / METRICS
    if not os.path.lexists(file):
        return Metrics([], "")
    rows: list[dict[str, Any]] = []
    last: dict[str, int] = {}
    problems: list[str] = []
    # What follows the last end of a line is being written, or was cut short by a crash.
    for number, line in enumerate(read_bytes(file).split(b"\n")[:-1], start=1):
        try:
            row = _row(line)
            if row["step"] <= last.get(row["kind"], -1):
                raise UnreadableError(f"its step {row['step']} is not after the one before")
        except UnreadableError as error:
            problems.append(f"line {number} of {file}: {error}")
            continue
        last[row["kind"]] = row["step"]
        rows.append(row)
    more = f" (and {len(problems) - 1} more lines)" if len(problems) > 1 else ""
    return Metrics(rows, f"{problems[0]}{more}" if problems else "")


def _row(line: bytes) -> dict[str, Any]:
    row = check(parse_json(line), METRICS_SCHEMA)
    if row["kind"] == "eval":
        check(row, {"return": NUMBER})
    return check(row, {name: NUMBER for name in row if name != "kind"})
