"""From one sub-action per vertex to what an environment's action space takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class ActionMap(Protocol):
    """A factored action space."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of sub-actions of each vertex."""
        ...

    def __call__(self, action: NDArray[np.int32]) -> Any:
        """The environment's action for one sub-action per vertex."""
        ...


class Discretised(NamedTuple):
    """A `Box`: sub-actions evenly spaced from low to high, both included."""

    sizes: tuple[int, ...]
    levels: tuple[NDArray[np.floating], ...]
    shape: tuple[int, ...]
    dtype: Any

    def __call__(self, action: NDArray[np.int32]) -> NDArray[Any]:
        chosen = [levels[sub] for levels, sub in zip(self.levels, action, strict=True)]
        return np.array(chosen, self.dtype).reshape(self.shape)


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


def action_map(
    space: spaces.Space[Any], *, bins: Sequence[int] = (5,), shape: Sequence[int] = ()
) -> ActionMap:
    """How an action space is factored, or an error that says what would work."""
    if shape and not isinstance(space, spaces.Discrete):
        raise ValueError(f"--action-shape is for Discrete action spaces, not {space}")
    if isinstance(space, spaces.Box):
        return _discretised(space, tuple(bins))
    if isinstance(space, spaces.MultiDiscrete):
        sizes = tuple(int(size) for size in np.ravel(space.nvec))
        return Direct(sizes, np.ravel(space.start), space.nvec.shape, space.dtype)
    if isinstance(space, spaces.MultiBinary):
        count = math.prod(space.shape)
        return Direct((2,) * count, np.zeros(count, int), space.shape, space.dtype)
    if isinstance(space, spaces.Discrete):
        sizes = tuple(shape) or (int(space.n),)
        if math.prod(sizes) != space.n:
            raise ValueError(
                f"--action-shape {' '.join(map(str, sizes))} makes {math.prod(sizes)} actions, "
                f"but the action space has {space.n}"
            )
        return Product(sizes, int(space.start))
    raise ValueError(
        f"the action space {space} cannot be factored; Box, MultiDiscrete, MultiBinary and "
        f"Discrete can"
    )


def _discretised(space: spaces.Box, bins: tuple[int, ...]) -> Discretised:
    low, high = np.ravel(space.low), np.ravel(space.high)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"the action space {space} has no limits to space sub-actions between")
    sizes = bins * len(low) if len(bins) == 1 else bins
    if len(sizes) != len(low) or min(sizes) < 2:
        raise ValueError(
            f"--bins {' '.join(map(str, bins))}: give one number, or one for each of the "
            f"{len(low)} dimensions, 2 at least"
        )
    levels = tuple(np.linspace(a, b, size) for a, b, size in zip(low, high, sizes, strict=True))
    return Discretised(tuple(sizes), levels, space.shape, space.dtype)
