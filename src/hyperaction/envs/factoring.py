"""Action spaces as vertices: `Box`, `Discrete`, `MultiDiscrete`, `MultiBinary`, and any `Dict` or
`Tuple` of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hyperaction.envs import names
from hyperaction.envs.action_maps import (
    ActionMap,
    Composite,
    Continuous,
    Direct,
    Discretised,
    Listed,
    Product,
    described,
    renamed,
)
from hyperaction.envs.bins import Bins, BinsLike, parsed, whole_numbers
from hyperaction.errors import SettingError

MAX_SUB_ACTIONS = 1_000_000
"""The most sub-actions of all vertices together: each has a value of its own to learn."""


def action_map(
    space: spaces.Space[Any], bins: BinsLike = (5,), shape: Sequence[int] = ()
) -> ActionMap:
    """How an action space is factored, or an error that says what would work.

    Args:
        space: The action space.
        bins: Sub-actions per dimension of a `Box`, or of the `Box` parts by their names.
        shape: The sizes that a `Discrete` space is the product of.
    """
    shape = whole_numbers("action_shape", shape)
    if shape and not isinstance(space, spaces.Discrete):
        raise SettingError(f"`action_shape` is for Discrete action spaces, not {space}")
    given = parsed(bins)
    given.check_parts([path for path, _ in _boxes(space)])
    if len(given.every) > 1 and isinstance(space, spaces.Dict | spaces.Tuple):
        numbers = " ".join(map(str, given.every))
        raise SettingError(
            f"`bins` {numbers}: for the parts of {type(space).__name__} action spaces, give one "
            f"number, or name them, as in arm=5 legs=3,9"
        )
    actions = _factored(space, given, shape, "")
    if not actions.sizes:
        raise ValueError(f"the action space {space} has no dimensions to act in")
    if (count := sum(actions.sizes)) > MAX_SUB_ACTIONS:
        hint = "; factor it with `action_shape`" if isinstance(space, spaces.Discrete) else ""
        raise SettingError(
            f"the action space {space} has {count:,} sub-actions; at most "
            f"{MAX_SUB_ACTIONS:,} are allowed{hint}"
        )
    return actions


def unused_bins(space: spaces.Space[Any]) -> str:
    """What to say of bins that an action space has no use for; empty where it has a `Box`."""
    return "" if _boxes(space) else f"`bins` changes nothing: the action space {space} has no Box"


def _parts(space: spaces.Dict | spaces.Tuple) -> list[tuple[Any, spaces.Space[Any]]]:
    return list(space.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces))


def _boxes(space: spaces.Space[Any], path: str = "") -> list[tuple[str, spaces.Box]]:
    """The `Box` spaces within a space, with their paths."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return [box for key, part in _parts(space) for box in _boxes(part, _inner(path, key))]
    return [(path, space)] if isinstance(space, spaces.Box) else []


def _inner(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _factored(space: spaces.Space[Any], bins: Bins, shape: tuple[int, ...], path: str) -> ActionMap:
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return _composite(space, bins, path)
    if isinstance(space, spaces.Box):
        return _discretised(space, bins, path)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = tuple(int(size) for size in np.ravel(space.nvec))
        start = np.ravel(space.start)
        return Direct(sizes, start, space.nvec.shape, space.dtype, names.numbers(len(sizes)))
    if isinstance(space, spaces.MultiBinary):
        count = math.prod(space.shape)
        zeros = np.zeros(count, int)
        return Direct((2,) * count, zeros, space.shape, space.dtype, names.numbers(count))
    if isinstance(space, spaces.Discrete):
        sizes = shape or (int(space.n),)
        if math.prod(sizes) != space.n:
            raise SettingError(
                f"`action_shape` {' '.join(map(str, sizes))} makes {math.prod(sizes)} actions, "
                f"but the action space has {space.n}"
            )
        return Product(sizes, int(space.start), names.numbers(len(sizes)))
    raise ValueError(
        f"{_called(space, path)} cannot be factored; Box, MultiDiscrete, MultiBinary and "
        f"Discrete can, and Dict and Tuple of these"
    )


def _composite(space: spaces.Dict | spaces.Tuple, bins: Bins, path: str) -> Composite:
    keyed = [(key, _factored(part, bins, (), _inner(path, key))) for key, part in _parts(space)]
    parts = tuple(part for _, part in keyed)
    sizes = tuple(size for part in parts for size in part.sizes)
    found = names.of_space(name for key, part in keyed for name in _names_within(str(key), part))
    keys = tuple(key for key, _ in keyed) if isinstance(space, spaces.Dict) else None
    return Composite(sizes, keys, parts, found)


def _names_within(key: str, part: ActionMap) -> list[str]:
    """The names of a part's vertices; those of one vertex are called as the part."""
    if len(part.sizes) == 1 and not isinstance(part, Composite):
        return [key]
    return [f"{key}.{name}" for name in part.names]


def _called(space: spaces.Space[Any], path: str) -> str:
    if path:
        return f"the part {path} of the action space, {space},"
    return f"the action space {space}"


def continuous(space: spaces.Space[Any]) -> Continuous:
    """A `Box` for an agent whose actions are real numbers."""
    if not isinstance(space, spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        raise ValueError(f"ddpg acts in a Box of real numbers, not in the action space {space}")
    low, high = _limits(space, "")
    return Continuous(low, high, space.shape, space.dtype, names.numbers(len(low)))


def _limits(space: spaces.Box, path: str) -> tuple[NDArray[Any], NDArray[Any]]:
    low, high = np.ravel(space.low), np.ravel(space.high)
    if not low.size:
        raise ValueError(f"{_called(space, path)} has no dimensions to act in")
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"{_called(space, path)} has no limits to act between")
    return low, high


def _discretised(space: spaces.Box, bins: Bins, path: str) -> Discretised:
    low, high = _limits(space, path)
    counts, given = bins.of(path)
    sizes = counts * len(low) if len(counts) == 1 else counts
    if len(sizes) != len(low) or min(sizes) < 2:
        whose = f" of {path}" if path else ""
        raise SettingError(
            f"`bins` {given}: give one number, or one for each of the {len(low)} dimensions"
            f"{whose}, at least 2"
        )
    if sum(sizes) > MAX_SUB_ACTIONS:
        raise SettingError(
            f"`bins` {given} of {len(low)} dimensions make {sum(sizes):,} sub-actions; at most "
            f"{MAX_SUB_ACTIONS:,} are allowed"
        )
    places = np.minimum(np.arange(max(sizes)), np.array(sizes)[:, None] - 1)
    rows = [_evenly(a, b, size) for a, b, size in zip(low, high, sizes, strict=True)]
    levels = np.stack([row[place] for row, place in zip(rows, places, strict=True)])
    return Discretised(sizes, levels, space.shape, space.dtype, names.numbers(len(sizes)))


def _evenly(low: Any, high: Any, size: int) -> NDArray[Any]:
    """Numbers from low to high, both included, of their type."""
    with np.errstate(over="ignore", invalid="ignore"):
        row = np.linspace(low, high, size)
        if not np.isfinite(row).all():  # The limits are so far apart that no float is.
            row = 2.0 * np.linspace(low / 2.0, high / 2.0, size)
        row = row.astype(low.dtype)
    row[0], row[-1] = low, high  # The largest integers are not floats.
    return row


def fits(actions: ActionMap, space: spaces.Space[Any]) -> bool:
    """Whether a space is like the one that the actions were made for, whatever they are called."""
    if isinstance(actions, Composite):
        if not isinstance(space, spaces.Dict if actions.keys is not None else spaces.Tuple):
            return False
        keyed = _parts(space)
        keys = tuple(range(len(actions.parts))) if actions.keys is None else actions.keys
        return tuple(key for key, _ in keyed) == keys and all(
            fits(part, inner) for part, (_, inner) in zip(actions.parts, keyed, strict=True)
        )
    try:
        if isinstance(actions, Listed):
            return isinstance(space, spaces.Discrete) and space.n == len(actions.actions)
        if isinstance(actions, Continuous):
            again: ActionMap = continuous(space)
        else:
            shape = actions.sizes if isinstance(space, spaces.Discrete) else ()
            again = action_map(space, actions.sizes, shape)
    except ValueError:
        return False
    return described(renamed(again, actions.names)) == described(actions)
