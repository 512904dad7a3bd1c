"""Tables of what is allowed, in all the forms that they may be given in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.errors import unknown

Scope = tuple[int, ...]
"""Vertices, in increasing order."""

Tables = dict[Scope, NDArray[np.bool_]]
"""What is allowed of each scope: an axis per vertex, true where allowed."""


def vertex_of(given: Any, count: int, names: Sequence[str] | None = None) -> int:
    """A vertex by number or name."""
    known = [str(number) for number in range(count)] if names is None else list(names)
    if isinstance(given, str):
        if given in known:
            return known.index(given)
        if given.isdigit() and int(given) < count:
            return int(given)
        raise ValueError(unknown("vertex", given, known))
    if isinstance(given, int | np.integer) and 0 <= given < count:
        return int(given)
    raise ValueError(f"there is no vertex {given}; there are {count}, counted from 0")


def tables_of(
    given: Any,
    sizes: Sequence[int],
    names: Sequence[str] | None = None,
    *,
    is_discrete: bool = False,
) -> Tables:
    """The tables that a mask has, in any form that it may be given in.

    Args:
        given: A row with an entry per sub-action of all vertices; a row for each vertex, in a tuple
            or stacked; an array over all joint actions, an axis per vertex or flat; or a dictionary
            from vertices, by number or name, to arrays over their sub-actions.
        sizes: The number of sub-actions of each vertex.
        names: The names of the vertices, if they have any.
        is_discrete: Whether the action space is one `Discrete`, whose own masks have an entry per
            joint action.
    """
    if isinstance(given, Mapping):
        return _of_mapping(given, sizes, names)
    shape = tuple(sizes)
    every = tuple(range(len(shape)))
    ragged = isinstance(given, list | tuple) and len({np.size(part) for part in given}) > 1
    if ragged or (isinstance(given, tuple) and len(given) == len(shape)):
        return _of_rows(given, shape)
    array = _booleans(given)
    stacked = len(set(shape)) == 1 and array.shape == (len(shape), shape[0])
    if array.shape == shape and stacked and len(shape) > 1:
        raise ValueError(
            f"the mask of shape {array.shape} may be one over joint actions or a row for each "
            f"vertex; give a tuple of rows, or {{(0, 1): mask}}"
        )
    if stacked:
        return _of_rows(array, shape)
    per_vertex = array.ndim == 1 and array.size == sum(shape)
    is_joint = array.shape == shape or (array.ndim == 1 and array.size == math.prod(shape))
    if is_joint and (is_discrete or not per_vertex):
        return {every: array.reshape(shape)}
    if per_vertex:
        return _of_rows(np.split(array, np.cumsum(shape)[:-1]), shape)
    raise ValueError(
        f"the mask has shape {array.shape}; give a row of {sum(shape)}, one per sub-action, a "
        f"tuple of rows, an array of shape {shape} over joint actions, or a dictionary from "
        f"vertices to arrays, such as {{(0, 1): mask}}"
    )


def _of_mapping(
    given: Mapping[Any, Any], sizes: Sequence[int], names: Sequence[str] | None
) -> Tables:
    tables: Tables = {}
    for key, value in given.items():
        parts = key.split(",") if isinstance(key, str) and key not in (names or ()) else key
        several = parts if isinstance(parts, list | tuple) else (parts,)
        vertices = [vertex_of(vertex, len(sizes), names) for vertex in several]
        if not vertices or len(set(vertices)) < len(vertices):
            raise ValueError(f"the mask of {key!r} must be about one vertex or several different")
        shape = tuple(sizes[vertex] for vertex in vertices)
        array = _booleans(value)
        if array.shape != shape and not (array.ndim == 1 and array.size == math.prod(shape)):
            raise ValueError(f"the mask of {key!r} has shape {array.shape}; it must be {shape}")
        order = np.argsort(vertices)
        table = array.reshape(shape).transpose(order)
        scope = tuple(int(vertices[i]) for i in order)
        tables[scope] = tables[scope] & table if scope in tables else table
    return tables


def _of_rows(rows: Iterable[Any], sizes: Sequence[int]) -> Tables:
    tables: Tables = {}
    parts = list(rows)
    if len(parts) != len(sizes):
        raise ValueError(f"the mask has {len(parts)} rows; there are {len(sizes)} vertices")
    for vertex, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        if part is None:  # As in Gymnasium: all is allowed.
            continue
        row = _booleans(part)
        if row.shape != (size,):
            raise ValueError(
                f"the mask of vertex {vertex} has shape {row.shape}; it must be ({size},)"
            )
        tables[(vertex,)] = row
    return tables


def _booleans(given: Any) -> NDArray[np.bool_]:
    try:
        array = np.asarray(given)
    except Exception:  # Of any object: a ragged list is no array.
        array = np.empty(0, object)
    is_number = array.dtype.kind in "biuf"
    if not is_number or (array.dtype != bool and not ((array == 0) | (array == 1)).all()):
        raise ValueError("the mask must hold zeros and ones")
    return array.astype(bool)
