"""Nested state as JSON and arrays: what `state_dict` gives, taken apart and joined again.

A state may come from a stranger's file, so it is compared with what a part's `state_like` gives
before it is loaded: a state of the same kind, in which

- a tuple holds alternatives,
- `[x, ...]` is a list of any number of values like `x`,
- an array stands for those of its kind and shape, and one without rows for any number of rows,
- a type stands for all of its instances, and any other value for those of its type.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.runs.schema import MAX_INTEGER, UnreadableError, short

Arrays = dict[str, NDArray[Any]]

ARRAY = "$array"
"""Stands in JSON where an array was, with the array's name."""


def split(state: Any, path: str = "") -> tuple[Any, Arrays]:
    """The state with names in place of its arrays, and the arrays by these names."""
    arrays: Arrays = {}

    def walk(value: Any, path: str) -> Any:
        if isinstance(value, np.ndarray):
            arrays[path] = value
            return {ARRAY: path}
        if isinstance(value, dict):
            return {key: walk(each, f"{path}/{key}".lstrip("/")) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [walk(each, f"{path}/{index}") for index, each in enumerate(value)]
        return value

    return walk(state, path), arrays


def join(plain: Any, arrays: Arrays) -> Any:
    """The state that was split."""
    if isinstance(plain, dict):
        if set(plain) == {ARRAY}:
            return arrays[plain[ARRAY]]
        return {key: join(each, arrays) for key, each in plain.items()}
    if isinstance(plain, list):
        return [join(each, arrays) for each in plain]
    return plain


def check_like(state: Any, like: Any, name: str = "state") -> None:
    """Raises `UnreadableError` at the first value that is not as it should be.

    Args:
        state: What is to be loaded.
        like: What `state_like` gave.
        name: Where in the state this is.
    """
    if isinstance(like, tuple):
        _check_any(state, like, name)
    elif isinstance(like, dict) and isinstance(state, dict):
        for key in sorted(like.keys() ^ state.keys()):
            raise UnreadableError(f"{name}/{key} is {'missing' if key in like else 'unknown'}")
        for key, each in state.items():
            check_like(each, like[key], f"{name}/{key}")
    elif isinstance(like, list) and isinstance(state, list):
        wanted = [like[0]] * len(state) if like[1:] == [...] else like
        if len(state) != len(wanted):
            raise UnreadableError(f"{name} has {len(state)} values, not {len(wanted)}")
        for index, (each, one) in enumerate(zip(state, wanted, strict=True)):
            check_like(each, one, f"{name}/{index}")
    elif not _is_like(state, like):
        found = _kind(state) if isinstance(state, dict | list | np.ndarray) else short(state)
        raise UnreadableError(f"{name} is {found}, not {_kind(like)}")


def _check_any(state: Any, alternatives: tuple[Any, ...], name: str) -> None:
    """Raises the last alternative's error unless one fits."""
    for like in alternatives[:-1]:
        with suppress(UnreadableError):
            check_like(state, like, name)
            return
    check_like(state, alternatives[-1], name)


def _is_like(value: Any, like: Any) -> bool:
    if isinstance(like, type):
        return isinstance(value, like)
    if isinstance(like, np.ndarray):
        if not isinstance(value, np.ndarray) or value.ndim != like.ndim:
            return False
        free = int(like.ndim > 0 and len(like) == 0)
        return value.dtype.kind == like.dtype.kind and value.shape[free:] == like.shape[free:]
    if isinstance(like, float):
        return type(value) is float or (type(value) is int and abs(value) <= MAX_INTEGER)
    if type(like) is int:
        return type(value) is int and 0 <= value <= MAX_INTEGER
    return type(value) is type(like)


KINDS = {
    bool: "true or false", int: "an integer of at least 0", float: "a number", str: "text",
    dict: "a table", list: "a list", type(None): "null",
}  # fmt: skip


def _kind(value: Any) -> str:
    """What a value is, for messages."""
    if isinstance(value, np.ndarray):
        rows = ("any", *value.shape[1:]) if value.size == 0 and value.ndim else value.shape
        return f"an array of {value.dtype} of shape ({', '.join(map(str, rows))})"
    kind = value if isinstance(value, type) else type(value)
    return KINDS.get(kind, "an array" if kind is np.ndarray else kind.__name__)
