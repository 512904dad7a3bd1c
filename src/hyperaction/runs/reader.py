"""The files of a run as they are read: of bounded size, and checked against what a run writes.

A run may be damaged, half deleted or a stranger's, so every file of ours is read here. Numbers that
are not finite are refused but for metrics, where a return may be NaN or infinite: a diverged run
has one, curves leave it out, and scores are refused because of it.
"""

from __future__ import annotations

import json
import os
import stat
from bisect import bisect_left
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hyperaction.runs.schema import (
    CONFIG_SCHEMA,
    MAX_INTEGER,
    METRICS_SCHEMA,
    NUMBER,
    UnreadableError,
    check,
    is_finite,
    short,
)

FORMAT = 2
"""The version of what is in a run's directory."""

CONFIG, METRICS = "config.json", "metrics.jsonl"

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 16


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
        raise UnreadableError(f"the integer {short(digits)} is too large")
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
    elif isinstance(content, float) and not is_finite(content):
        raise UnreadableError(f"{name} is {content}, not a finite number")


def read_json(file: Path, checked: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """A file of JSON whose numbers are finite, as a function gives it that checks the rest."""
    data = read_bytes(file)
    try:
        content = parse_json(data)
        _check_finite(content)
        return checked(content)
    except UnreadableError as error:
        raise UnreadableError(f"{file} is damaged: {error}") from None


def read_config(out: Path) -> dict[str, Any]:
    """A run's settings."""
    file = out / CONFIG
    if not os.path.lexists(file):
        raise UnreadableError(f"{out} holds no run: there is no {file.name} in it")
    config = read_json(file, lambda content: check(content, CONFIG_SCHEMA))
    if config.get("format") != FORMAT:
        raise UnreadableError(
            f"{file} was written by another version of hyperaction; train --fresh starts over"
        )
    return config


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
    rows: dict[int, dict[str, Any]] = {}
    problems: dict[int, str] = {}
    # What follows the last end of a line is being written, or was cut short by a crash.
    for number, line in enumerate(read_bytes(file).split(b"\n")[:-1], start=1):
        try:
            rows[number] = _row(line)
        except UnreadableError as error:
            problems[number] = str(error)
    for kind in {row["kind"] for row in rows.values()}:
        steps = {number: row["step"] for number, row in rows.items() if row["kind"] == kind}
        for number in steps.keys() - _increasing(steps):
            problems[number] = f"its step {steps[number]} is out of order"
            del rows[number]
    if not problems:
        return Metrics(list(rows.values()), "")
    first, more = min(problems), f" (and {len(problems) - 1} more lines)"
    problem = f"line {first} of {file}: {problems[first]}{more if len(problems) > 1 else ''}"
    return Metrics(list(rows.values()), problem)


def _increasing(steps: Mapping[int, int]) -> set[int]:
    """Lines whose steps increase, as many as there can be: one wrong step costs one line."""
    lowest: list[int] = []
    ends: list[int] = []
    """Of the sequences of each length, the lowest last step, and its line."""
    before: dict[int, int | None] = {}
    for line, step in steps.items():
        length = bisect_left(lowest, step)
        if lowest[length : length + 1] == [step]:
            continue  # Of several lines with one step, the first.
        before[line] = ends[length - 1] if length else None
        lowest[length : length + 1], ends[length : length + 1] = [step], [line]
    found: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def _row(line: bytes) -> dict[str, Any]:
    row = check(parse_json(line), METRICS_SCHEMA)
    if row["kind"] == "eval":
        check(row, {"return": NUMBER})
    return check(row, {name: NUMBER for name in row if name != "kind"})
