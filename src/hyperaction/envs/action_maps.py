"""From one sub-action per vertex to what an environment's action space takes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hyperaction.errors import SettingError

MAX_SUB_ACTIONS = 1_000_000
"""The most sub-actions of all vertices together: each has a value of its own to learn."""


class ActionMap(Protocol):
    """A factored action space."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of sub-actions of each vertex."""
        ...

    def __call__(self, action: NDArray[Any]) -> Any:
        """The environment's action for one sub-action per vertex."""
        ...


class Discretised(NamedTuple):
    """A `Box`: sub-actions evenly spaced from low to high, both included."""

    sizes: tuple[int, ...]
    levels: NDArray[Any]
    """A row of sub-actions for each dimension; shorter rows end in copies of their last."""
    shape: tuple[int, ...]
    dtype: Any

    def __call__(self, action: NDArray[np.int32]) -> NDArray[Any]:
        return self.levels[np.arange(len(self.sizes)), action].reshape(self.shape)


class Continuous(NamedTuple):
    """A `Box` as it is, its actions scaled to go from -1 to 1."""

    low: NDArray[np.floating]
    high: NDArray[np.floating]
    shape: tuple[int, ...]
    dtype: Any

    @property
    def sizes(self) -> tuple[int, ...]:
        """No sub-action of any dimension can be counted."""
        return (0,) * len(self.low)

    def __call__(self, action: NDArray[Any]) -> NDArray[Any]:
        share = (action + 1.0) / 2.0
        scaled = (1.0 - share) * self.low + share * self.high
        return scaled.astype(self.dtype).reshape(self.shape)


class Direct(NamedTuple):
    """A `MultiDiscrete` or `MultiBinary`: integers, from where they start."""

    sizes: tuple[int, ...]
    start: NDArray[np.integer]
    shape: tuple[int, ...]
    dtype: Any

    def __call__(self, action: NDArray[np.int32]) -> NDArray[Any]:
        return (action + self.start).astype(self.dtype).reshape(self.shape)


class Product(NamedTuple):
    """A `Discrete` seen as a product of vertices, the last one changing fastest."""

    sizes: tuple[int, ...]
    start: int

    def __call__(self, action: NDArray[np.int32]) -> int:
        return self.start + int(np.ravel_multi_index(tuple(action), self.sizes))


class Listed(NamedTuple):
    """A `Discrete` whose actions are listed by their sub-actions, the last one changing fastest."""

    sizes: tuple[int, ...]
    actions: tuple[int, ...]

    def __call__(self, action: NDArray[np.int32]) -> int:
        return self.actions[int(np.ravel_multi_index(tuple(action), self.sizes))]


def action_map(
    space: spaces.Space[Any], bins: Sequence[int] | int = (5,), shape: Sequence[int] = ()
) -> ActionMap:
    """How an action space is factored, or an error that says what would work."""
    actions = _factored(space, _whole_numbers("bins", bins), _whole_numbers("action_shape", shape))
    if not actions.sizes:
        raise ValueError(f"the action space {space} has no dimensions to act in")
    if (count := sum(actions.sizes)) > MAX_SUB_ACTIONS:
        hint = "; factor it with `action_shape`" if isinstance(space, spaces.Discrete) else ""
        raise SettingError(
            f"the action space {space} has {count:,} sub-actions; at most "
            f"{MAX_SUB_ACTIONS:,} are allowed{hint}"
        )
    return actions


def _factored(space: spaces.Space[Any], bins: tuple[int, ...], shape: tuple[int, ...]) -> ActionMap:
    if shape and not isinstance(space, spaces.Discrete):
        raise SettingError(f"`action_shape` is for Discrete action spaces, not {space}")
    if isinstance(space, spaces.Box):
        return _discretised(space, bins)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = tuple(int(size) for size in np.ravel(space.nvec))
        return Direct(sizes, np.ravel(space.start), space.nvec.shape, space.dtype)
    if isinstance(space, spaces.MultiBinary):
        count = math.prod(space.shape)
        return Direct((2,) * count, np.zeros(count, int), space.shape, space.dtype)
    if isinstance(space, spaces.Discrete):
        sizes = shape or (int(space.n),)
        if math.prod(sizes) != space.n:
            raise SettingError(
                f"`action_shape` {' '.join(map(str, sizes))} makes {math.prod(sizes)} actions, "
                f"but the action space has {space.n}"
            )
        return Product(sizes, int(space.start))
    raise ValueError(
        f"the action space {space} cannot be factored; Box, MultiDiscrete, MultiBinary and "
        f"Discrete can"
    )


def continuous(space: spaces.Space[Any]) -> Continuous:
    """A `Box` for an agent whose actions are real numbers."""
    if not isinstance(space, spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        raise ValueError(f"ddpg acts in a Box of real numbers, not in the action space {space}")
    low, high = _limits(space)
    return Continuous(low, high, space.shape, space.dtype)


def _limits(space: spaces.Box) -> tuple[NDArray[Any], NDArray[Any]]:
    low, high = np.ravel(space.low), np.ravel(space.high)
    if not low.size:
        raise ValueError(f"the action space {space} has no dimensions to act in")
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"the action space {space} has no limits to act between")
    return low, high


def _discretised(space: spaces.Box, bins: tuple[int, ...]) -> Discretised:
    low, high = _limits(space)
    sizes = bins * len(low) if len(bins) == 1 else bins
    given = " ".join(map(str, bins))
    if len(sizes) != len(low) or min(sizes) < 2:
        raise SettingError(
            f"`bins` {given}: give one number, or one for each of the {len(low)} dimensions, at "
            f"least 2"
        )
    if sum(sizes) > MAX_SUB_ACTIONS:
        raise SettingError(
            f"`bins` {given} of {len(low)} dimensions make {sum(sizes):,} sub-actions; at most "
            f"{MAX_SUB_ACTIONS:,} are allowed"
        )
    places = np.minimum(np.arange(max(sizes)), np.array(sizes)[:, None] - 1)
    rows = [_evenly(a, b, size) for a, b, size in zip(low, high, sizes, strict=True)]
    levels = np.stack([row[place] for row, place in zip(rows, places, strict=True)])
    return Discretised(sizes, levels, space.shape, space.dtype)


def _evenly(low: Any, high: Any, size: int) -> NDArray[Any]:
    """Numbers from low to high, both included, of their type."""
    with np.errstate(over="ignore", invalid="ignore"):
        row = np.linspace(low, high, size)
        if not np.isfinite(row).all():  # The limits are so far apart that no float is.
            row = 2.0 * np.linspace(low / 2.0, high / 2.0, size)
        row = row.astype(low.dtype)
    row[0], row[-1] = low, high  # The largest integers are not floats.
    return row


def _whole_numbers(name: str, given: Any) -> tuple[int, ...]:
    """One number or several, NumPy's too."""
    try:
        return tuple(operator.index(number) for number in np.ravel(given))
    except (TypeError, ValueError):
        raise SettingError(f"`{name}` must be whole numbers, not {given!r}") from None


def fits(actions: ActionMap, space: spaces.Space[Any]) -> bool:
    """Whether a space is like the one that the actions were made for."""
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
    return described(again) == described(actions)


def described(actions: ActionMap) -> dict[str, Any]:
    """A factored action space, ready for JSON."""
    fields: dict[str, Any] = actions._asdict()  # type: ignore[attr-defined]
    return {"kind": type(actions).__name__} | {name: _plain(v) for name, v in fields.items()}


def restored(description: dict[str, Any]) -> ActionMap:
    """The factored action space that was described."""
    fields = dict(description)
    name = fields.pop("kind")
    if name == "Product":
        return Product(tuple(fields["sizes"]), fields["start"])
    if name == "Listed":
        return Listed(tuple(fields["sizes"]), tuple(fields["actions"]))
    kind = {"Discretised": Discretised, "Continuous": Continuous, "Direct": Direct}[name]
    for name in ("sizes", "shape"):
        if name in fields:
            fields[name] = tuple(fields[name])
    fields["dtype"] = np.dtype(fields["dtype"])
    for name in ("low", "high", "start"):
        if name in fields:
            fields[name] = np.array(fields[name])
    if "levels" in fields:
        fields["levels"] = np.array(fields["levels"], fields["dtype"])
    return kind(**fields)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, int) else np.dtype(value).str
