"""What the files of a run hold: the kinds of their values, and the schema of each file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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


def is_finite(value: Any) -> bool:
    """Whether a value is a number that is finite, and not so large that sums are not."""
    return _is_number(value) and math.isfinite(value)


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_size(value: Any) -> bool:
    return _is_integer(value) and value > 0


def _is_count(value: Any) -> bool:
    return _is_integer(value, MAX_INTEGER) and value > 0


def _is_start(value: Any) -> bool:
    return _is_int(value) and abs(value) <= MAX_INTEGER


def _is_key(value: Any) -> bool:
    return isinstance(value, str) or _is_int(value)


def _is_level(value: Any) -> bool:
    return is_list(value, is_finite)


TEXT = Kind("text", lambda value: isinstance(value, str) and 0 < len(value) <= 1000)
COUNT = Kind("an integer of at least 0", _is_integer)
SEED = Kind("an integer from 0 to 2^63 - 1", lambda value: _is_integer(value, MAX_INTEGER))
NUMBER = Kind("a number", _is_number)
FINITE = Kind("a finite number", is_finite)
SPEED = Kind("a speed", lambda value: is_finite(value) and (value == 0 or value > 1e-9))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TABLE = Kind("a table", lambda value: isinstance(value, dict))
COUNTS = Kind("a list of integers", lambda value: is_list(value, _is_integer))
SIZES = Kind("a list of integers above 0", lambda value: is_list(value, _is_size))
TEXTS = Kind("a list of texts", lambda value: is_list(value, lambda each: isinstance(each, str)))

NO_ACTION = ("stop", "default", "ignore")

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
    "has_agent": FLAG._replace(optional=True),
}

AGENT_SCHEMA: Schema = {
    "hyperaction": TEXT,
    "agent": TEXT,
    "settings": TABLE,
    "actions": TABLE,
    "observation_shape": COUNTS,
    "observations": TABLE._replace(optional=True),
    "no_action": Kind("stop, default or ignore", lambda value: value in NO_ACTION, optional=True),
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
    "low": Kind("a list of numbers", lambda value: is_list(value, is_finite), optional=True),
    "high": Kind("a list of numbers", lambda value: is_list(value, is_finite), optional=True),
    "levels": Kind("lists of numbers", lambda value: is_list(value, _is_level), optional=True),
    "names": TEXTS._replace(optional=True),
    "keys": Kind("keys", lambda value: value is None or is_list(value, _is_key), optional=True),
    "parts": Kind("a list of tables", lambda value: is_list(value, TABLE.fits), optional=True),
}
"""How the file of an agent describes actions; which of these it has depends on their kind."""

OBSERVATION_SCHEMA: Schema = {
    "kind": TEXT,
    "shape": COUNTS._replace(optional=True),
    "sizes": Kind("integers above 0", lambda value: is_list(value, _is_count), optional=True),
    "starts": Kind("integers", lambda value: is_list(value, _is_start), optional=True),
    "keys": ACTION_SCHEMA["keys"],
    "parts": ACTION_SCHEMA["parts"],
}
"""How it describes observations, or a part of them."""


def is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    """Whether a value is a list of fitting values."""
    return isinstance(value, list) and all(fits(each) for each in value)


def check(content: Any, schema: Schema) -> dict[str, Any]:
    """A table as a schema has it, or `UnreadableError` with the first difference."""
    if not isinstance(content, dict):
        raise UnreadableError(f"it holds {short(content)}, not a table")
    for name, kind in schema.items():
        if name not in content:
            if kind.optional:
                continue
            raise UnreadableError(f"{name} is missing")
        if not kind.fits(content[name]):
            raise UnreadableError(f"{name} is {short(content[name])}, not {kind.name}")
    return content


def short(value: Any) -> str:
    """The beginning of a value as JSON, for messages."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
