"""From one sub-action per vertex to what an environment's action space takes."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperaction.envs.names import numbers, problem_with
from hyperaction.errors import SettingError


class ActionMap(Protocol):
    """A factored action space."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of sub-actions of each vertex."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each vertex; no two are the same."""
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
    names: tuple[str, ...]

    def __call__(self, action: NDArray[np.int32]) -> NDArray[Any]:
        return self.levels[np.arange(len(self.sizes)), action].reshape(self.shape)


class Continuous(NamedTuple):
    """A `Box` as it is, its actions scaled to go from -1 to 1."""

    low: NDArray[np.floating]
    high: NDArray[np.floating]
    shape: tuple[int, ...]
    dtype: Any
    names: tuple[str, ...]

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
    names: tuple[str, ...]

    def __call__(self, action: NDArray[np.int32]) -> NDArray[Any]:
        return (action + self.start).astype(self.dtype).reshape(self.shape)


class Product(NamedTuple):
    """A `Discrete` seen as a product of vertices, the last one changing fastest."""

    sizes: tuple[int, ...]
    start: int
    names: tuple[str, ...]

    def __call__(self, action: NDArray[np.int32]) -> int:
        return self.start + int(np.ravel_multi_index(tuple(action), self.sizes))


class Listed(NamedTuple):
    """A `Discrete` whose actions are listed by their sub-actions, the last one changing fastest."""

    sizes: tuple[int, ...]
    actions: tuple[int, ...]
    names: tuple[str, ...]

    def __call__(self, action: NDArray[np.int32]) -> int:
        return self.actions[int(np.ravel_multi_index(tuple(action), self.sizes))]


class Composite(NamedTuple):
    """A `Dict` or `Tuple` of other action spaces: the vertices of its parts in a row."""

    sizes: tuple[int, ...]
    keys: tuple[str | int, ...] | None
    """The keys of a `Dict`; a `Tuple` has none."""
    parts: tuple[ActionMap, ...]
    names: tuple[str, ...]

    def __call__(self, action: NDArray[Any]) -> Any:
        ends = list(accumulate((len(part.sizes) for part in self.parts), initial=0))
        built = [
            part(action[start:end])
            for part, start, end in zip(self.parts, ends[:-1], ends[1:], strict=True)
        ]
        return tuple(built) if self.keys is None else dict(zip(self.keys, built, strict=True))


def leaves(actions: ActionMap) -> Iterator[ActionMap]:
    """The parts that are made of no others."""
    if isinstance(actions, Composite):
        for part in actions.parts:
            yield from leaves(part)
    else:
        yield actions


def renamed(actions: ActionMap, names: Sequence[str]) -> ActionMap:
    """The same actions, with other names of their vertices; none leave those that there are."""
    if not names:
        return actions
    return actions._replace(names=tuple(names))  # type: ignore[attr-defined]


def stacked(actions: Sequence[Any]) -> Any:
    """Actions of several environments as vector environments take them: an array of each leaf."""
    first = actions[0]
    if isinstance(first, dict):
        return {key: stacked([action[key] for action in actions]) for key in first}
    if isinstance(first, tuple):
        return tuple(stacked(column) for column in zip(*actions, strict=True))
    return np.stack(actions)


def unstacked(actions: Any) -> list[Any]:
    """The actions of several environments one by one: of a list, or of an array of each leaf."""
    if isinstance(actions, dict):
        columns = [unstacked(column) for column in actions.values()]
        return [dict(zip(actions, row, strict=True)) for row in zip(*columns, strict=True)]
    if isinstance(actions, tuple):
        return list(zip(*(unstacked(column) for column in actions), strict=True))
    return list(np.atleast_1d(actions)) if not isinstance(actions, list) else actions


def sub_actions(actions: ActionMap, action: Any) -> list[int]:
    """The sub-actions of an environment's action, one per vertex."""
    try:
        return [int(each) for each in _sub_actions(actions, action)]
    except (TypeError, ValueError, LookupError):
        raise SettingError(f"`action` {action!r} is not one that the environment takes") from None


def _sub_actions(actions: ActionMap, action: Any) -> Any:
    if isinstance(actions, Composite):
        keys = range(len(actions.parts)) if actions.keys is None else actions.keys
        pairs = zip(actions.parts, keys, strict=True)
        return [each for part, key in pairs for each in _sub_actions(part, action[key])]
    if isinstance(actions, Discretised):
        near = np.isclose(actions.levels, np.ravel(action)[:, None])
        if not near.any(axis=1).all():
            raise ValueError(f"{action} is between the levels")
        return near.argmax(axis=1)
    if isinstance(actions, Direct):
        return np.ravel(action) - actions.start
    whole = operator.index(np.asarray(action)[()])
    if isinstance(actions, Product):
        return np.unravel_index(whole - actions.start, actions.sizes)
    if isinstance(actions, Listed):
        return np.unravel_index(actions.actions.index(whole), actions.sizes)
    raise TypeError("real actions have no sub-actions")


def described(actions: ActionMap) -> dict[str, Any]:
    """A factored action space, ready for JSON."""
    fields: dict[str, Any] = actions._asdict()  # type: ignore[attr-defined]
    return {"kind": type(actions).__name__} | {name: _plain(v) for name, v in fields.items()}


KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Discretised, Continuous, Direct, Product, Listed, Composite)
}

MAX_DEPTH = 32
"""Composites within one another that a description may have; more are no action space's."""


def restored(description: dict[str, Any], depth: int = 0) -> ActionMap:
    """The factored action space that was described; earlier versions gave vertices no names."""
    fields = dict(description)
    kind = KINDS[fields.pop("kind")]
    if depth > MAX_DEPTH:
        raise ValueError(f"its actions have more than {MAX_DEPTH} levels of parts")
    if "dtype" in fields:
        fields["dtype"] = np.dtype(fields["dtype"])
    for name in ("sizes", "shape", "names", "actions", "keys"):
        if fields.get(name) is not None:
            fields[name] = tuple(fields[name])
    for name in ("low", "high", "start"):
        if isinstance(fields.get(name), list):
            fields[name] = np.array(fields[name])
    if "levels" in fields:
        fields["levels"] = np.array(fields["levels"], fields["dtype"])
    if "parts" in fields:
        fields["parts"] = tuple(restored(part, depth + 1) for part in fields["parts"])
        if fields["sizes"] != tuple(size for part in fields["parts"] for size in part.sizes):
            raise ValueError("its actions have other sizes than their parts")
    count = len(fields["low"] if kind is Continuous else fields["sizes"])
    fields["names"] = fields.get("names") or numbers(count)
    if problem := problem_with(fields["names"], count):
        raise ValueError(f"its action names: {problem}")
    return kind(**fields)


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return described(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if value is None or isinstance(value, int | str) else np.dtype(value).str
