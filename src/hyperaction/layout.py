"""Observations of images and numbers together: one flat array of bytes, and where its parts are."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

NUMBER_BYTES = 4
"""Bytes of a number, a 32-bit float."""


class Layout(NamedTuple):
    """The parts of an observation, in order: images as they are, numbers in four bytes each."""

    parts: tuple[tuple[int, ...] | int, ...]
    """The shape of an image, or how many numbers."""

    @property
    def num_bytes(self) -> int:
        """The length of the array of bytes."""
        return sum(_num_bytes(part) for part in self.parts)

    @property
    def length(self) -> int:
        """How many numbers an observation is, with each byte of an image as one of them."""
        return sum(_length(part) for part in self.parts)

    @property
    def images(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the images."""
        return tuple(part for part in self.parts if isinstance(part, tuple))

    @property
    def numbers(self) -> int:
        """How many numbers there are beside the images."""
        return sum(part for part in self.parts if isinstance(part, int))

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where each part's bytes are."""
        ends = [0]
        for part in self.parts:
            ends.append(ends[-1] + _num_bytes(part))
        return tuple(slice(a, b) for a, b in pairwise(ends))

    def __str__(self) -> str:
        images = [f"an image of {' x '.join(map(str, shape))}" for shape in self.images]
        numbers = [f"{self.numbers} number{'s' * (self.numbers > 1)}"] if self.numbers else []
        return " and ".join(images + numbers)


def _length(part: tuple[int, ...] | int) -> int:
    return part if isinstance(part, int) else math.prod(part)


def _num_bytes(part: tuple[int, ...] | int) -> int:
    return part * NUMBER_BYTES if isinstance(part, int) else math.prod(part)
