"""The parts of an observation, a tree as its space is: made from spaces, and stored as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from hyperaction.envs.encodings import (
    MAX_ONE_HOT,
    Bytes,
    Categories,
    Leaf,
    Numbers,
    as_grid,
    categories,
    is_image,
)

WHAT_WORKS = (
    "Box of any shape works, Discrete, MultiDiscrete and MultiBinary, and Dict and Tuple of these; "
    "leave it out with gymnasium.wrappers.FilterObservation, or make numbers of it with "
    "gymnasium.wrappers.TransformObservation"
)


@dataclass(frozen=True)
class Group:
    """Several parts: those of a `Dict` by their keys, or those of a `Tuple`."""

    keys: tuple[str | int, ...] | None
    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str | int, ...]:
        """The keys, or the numbers of the parts."""
        return tuple(range(len(self.parts))) if self.keys is None else self.keys

    def values_of(self, observation: Any, subject: str) -> list[Any]:
        """The parts of an observation, which is called the subject in errors."""
        if self.keys is None:
            if not isinstance(observation, tuple | list) or len(observation) != len(self.parts):
                raise ValueError(f"{subject} is not a tuple of {len(self.parts)} parts")
            return list(observation)
        if not isinstance(observation, Mapping):
            raise ValueError(f"{subject} is not a dictionary")
        for key in self.keys:
            if key not in observation:
                raise ValueError(f"{subject} has no part {key!r}")
        for key in observation:
            if key not in self.keys:
                raise ValueError(f"{subject} has the unknown part {key!r}")
        return [observation[key] for key in self.keys]

    def __str__(self) -> str:
        if self.keys is None:
            return f"Tuple({', '.join(map(str, self.parts))})"
        pairs = zip(self.keys, self.parts, strict=True)
        return f"Dict({', '.join(f'{key}: {part}' for key, part in pairs)})"


Part = Group | Leaf


def part_of(space: spaces.Space[Any], name: str, *, plain: bool = False, path: str = "") -> Part:
    """The parts of a space, or an error that says what would work.

    Args:
        space: The space.
        name: What has it, for errors.
        plain: As `gymnasium.spaces.flatten` has them, which agents of earlier versions take.
        path: Where in the whole space this is.
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        keyed: dict[Any, spaces.Space[Any]] = dict(
            space.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        )
        parts = (part_of(s, name, plain=plain, path=inner(path, key)) for key, s in keyed.items())
        return Group(tuple(keyed) if isinstance(space, spaces.Dict) else None, tuple(parts))
    if isinstance(space, spaces.MultiBinary):
        return Numbers(tuple(space.shape))
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        return categories(space, math.inf if plain else MAX_ONE_HOT)
    if isinstance(space, spaces.Box):
        if is_image(space) and not plain:
            return Bytes(tuple(space.shape))
        return (None if plain else as_grid(space)) or Numbers(tuple(space.shape))
    where = f" in its part {path}" if path else ""
    raise ValueError(f"{name} has the observation space {space}{where}; {WHAT_WORKS}")


def inner(path: str, key: Any) -> str:
    """The path of a part."""
    return f"{path}.{key}" if path else str(key)


def leaves_of(part: Part, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """The parts that have none themselves, with their paths."""
    if isinstance(part, Group):
        for key, each in zip(part.names, part.parts, strict=True):
            yield from leaves_of(each, inner(path, key))
    else:
        yield path, part


def values_of(part: Part, observation: Any, path: str = "") -> Iterator[Any]:
    """An observation's values of the leaves."""
    if isinstance(part, Group):
        values = part.values_of(observation, subject(path))
        for key, each, value in zip(part.names, part.parts, values, strict=True):
            yield from values_of(each, value, inner(path, key))
    else:
        yield observation


def subject(path: str) -> str:
    """What a part is called in errors."""
    return f"its part {path}" if path else "it"


def described(part: Part) -> dict[str, Any]:
    """The parts, ready for JSON."""
    if isinstance(part, Group):
        keys = None if part.keys is None else list(part.keys)
        return {"kind": "group", "keys": keys, "parts": [described(each) for each in part.parts]}
    about: dict[str, Any] = {"kind": part.kind, "shape": list(part.shape)}
    if isinstance(part, Categories):
        about |= {"sizes": list(part.sizes), "starts": list(part.starts)}
    return about


def restored(about: Mapping[str, Any]) -> Part:
    """The parts that were described; the values of the description have been checked."""
    kind = about["kind"]
    if kind == "group":
        keys, parts = about["keys"], tuple(restored(each) for each in about["parts"])
        if keys is not None and (len(keys) != len(parts) or len(set(keys)) != len(keys)):
            raise ValueError("its observations have other keys than parts")
        return Group(None if keys is None else tuple(keys), parts)
    shape = tuple(about["shape"])
    if kind == Numbers.kind:
        return Numbers(shape)
    if kind == Bytes.kind:
        return Bytes(shape)
    if kind not in ("one-hot", "bits"):
        raise ValueError(f"its observations have the unknown kind {kind}")
    sizes, starts = tuple(about["sizes"]), tuple(about["starts"])
    entries = math.prod(shape)
    if any(len(each) not in (1, entries) for each in (sizes, starts)):
        raise ValueError(f"its observations have no sizes for {entries} entries")
    return Categories(kind, shape, sizes, starts)
