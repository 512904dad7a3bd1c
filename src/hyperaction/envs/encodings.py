"""How the parts of an observation become numbers: as they are, one-hot, or in bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

MAX_ONE_HOT = 4_096
"""The most numbers that one part of an observation becomes one-hot; with more it is bits."""

MAX_GRID_VALUES = 32
"""A `Box` of integers that take at most so many values each is a grid of categories, not of
quantities; two are as good as numbers."""


@dataclass(frozen=True)
class Numbers:
    """Numbers as they are."""

    kind: ClassVar[str] = "numbers"
    shape: tuple[int, ...]

    @property
    def length(self) -> int:
        """How many numbers it becomes."""
        return math.prod(self.shape)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Some values of this part, `[count, *shape]`, as floats, `[count, length]`."""
        if values.dtype.kind not in "biuf":
            raise ValueError(_not_numbers(values))
        return values.reshape(len(values), -1).astype(np.float32)

    def __str__(self) -> str:
        return f"numbers of shape {self.shape}" if self.shape else "a number"


@dataclass(frozen=True)
class Bytes:
    """Bytes as they are, such as an image's."""

    kind: ClassVar[str] = "bytes"
    shape: tuple[int, ...]

    @property
    def length(self) -> int:
        """How many bytes it is."""
        return math.prod(self.shape)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """Some values of this part, `[count, *shape]`, as bytes, `[count, length]`."""
        if values.dtype.kind not in "biuf":
            raise ValueError(_not_numbers(values))
        return values.reshape(len(values), -1).astype(np.uint8)

    def __str__(self) -> str:
        return f"bytes of shape {self.shape}"


@dataclass(frozen=True)
class Categories:
    """Integers without an order, each from its start on and below its start plus its size."""

    kind: Literal["one-hot", "bits"]
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    """How many values each integer has; one number if all have as many."""
    starts: tuple[int, ...]
    """The least value of each; one number if they are alike."""

    @cached_property
    def length(self) -> int:
        """How many numbers it becomes."""
        each = self.sizes if self.kind == "one-hot" else [_num_bits(size) for size in self.sizes]
        return sum(each) * (math.prod(self.shape) if len(each) == 1 else 1)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Some values of this part, `[count, *shape]`, as floats, `[count, length]`."""
        categories = self._checked(values)
        if self.kind == "bits":
            entry, place = self._bits
            return ((categories[:, entry] >> place) & 1).astype(np.float32)
        flat = np.zeros((len(values), self.length), np.float32)
        for row, entries in zip(flat, categories + self._offsets, strict=True):
            row[entries] = 1.0
        return flat

    def _checked(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Each value less its start, `[count, entries]`."""
        if values.dtype.kind not in "biuf":
            raise ValueError(_not_numbers(values))
        flat = values.reshape(len(values), -1)
        with np.errstate(invalid="ignore"):
            whole = flat.astype(np.int64)
        categories: NDArray[np.int64] = whole - self._starts
        wrong = (categories < 0) | (categories >= self._sizes)
        if values.dtype.kind == "f":
            wrong |= whole != flat
        if wrong.any():
            entry = int(np.argwhere(wrong)[0][1])
            low, size = int(self._starts[entry]), int(self._sizes[entry])
            raise ValueError(
                f"has the value {flat[wrong][0]}; it must be {low} to {low + size - 1}"
            )
        return categories

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.broadcast_to(np.array(self.sizes, np.int64), math.prod(self.shape))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.broadcast_to(np.array(self.starts, np.int64), math.prod(self.shape))

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.cumsum(self._sizes) - self._sizes

    @cached_property
    def _bits(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entry that each bit is of, and its place there."""
        counts = [_num_bits(int(size)) for size in self._sizes]
        return np.repeat(np.arange(len(counts)), counts), np.concatenate(
            [np.arange(count) for count in counts] or [np.empty(0, np.int64)]
        )

    def __str__(self) -> str:
        shape = f" of shape {self.shape}" if self.shape else ""
        return f"{'integers' if self.shape else 'an integer'}{shape}"


Leaf = Numbers | Bytes | Categories


def categories(
    space: spaces.Discrete | spaces.MultiDiscrete, limit: float = MAX_ONE_HOT
) -> Categories:
    """The integers of a space: one-hot if that takes few numbers, else in bits."""
    sizes = _short(space.n if isinstance(space, spaces.Discrete) else space.nvec)
    starts = _short(space.start)
    one_hot = Categories("one-hot", tuple(space.shape or ()), sizes, starts)
    return one_hot if one_hot.length <= limit else replace(one_hot, kind="bits")


def is_image(space: spaces.Space[Any]) -> bool:
    """Whether observations are images of bytes."""
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 3


def as_grid(space: spaces.Box) -> Categories | None:
    """A `Box` of integers of few values each as categories; nothing where it is another."""
    if space.dtype is None or space.dtype.kind not in "iu" or is_image(space) or not space.low.size:
        return None
    sizes = space.high.astype(object) - space.low.astype(object) + 1
    grid = Categories("one-hot", space.shape, _short(sizes), _short(space.low))
    fits = 2 < max(grid.sizes) <= MAX_GRID_VALUES and min(grid.sizes) >= 1
    return grid if fits and grid.length <= MAX_ONE_HOT else None


def _short(values: Any) -> tuple[int, ...]:
    """All of the values, or one where they are alike."""
    each = tuple(int(value) for value in np.ravel(np.asarray(values, object)))
    return each[:1] if len(set(each)) == 1 else each


def _num_bits(size: int) -> int:
    return max((size - 1).bit_length(), 1)


def _not_numbers(values: NDArray[Any]) -> str:
    return f"is {'complex' if values.dtype.kind == 'c' else values.dtype}, not numbers"
