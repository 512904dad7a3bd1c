"""Nested state as JSON and arrays: what `state_dict` gives, taken apart and joined again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
