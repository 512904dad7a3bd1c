"""A ring of transitions in preallocated arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Transition(NamedTuple):
    """What happened in one step, or in n.

    `discount` is zero where the episode terminated. A time limit is not a termination:
    `next_observation` is then the true last observation, and the discount stays.
    """

    observation: NDArray[np.float32]
    action: NDArray[Any]
    reward: float
    discount: float
    next_observation: NDArray[np.float32]
    next_mask: NDArray[np.bool_] | None = None


class Batch(NamedTuple):
    """Transitions side by side."""

    observation: NDArray[np.float32]
    action: NDArray[Any]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    next_observation: NDArray[np.float32]
    next_mask: NDArray[np.bool_] | None


class Ring:
    """The last `capacity` transitions."""

    def __init__(
        self,
        capacity: int,
        observation_shape: tuple[int, ...],
        action_length: int,
        action_dtype: type[np.generic] = np.int32,
        mask_length: int | None = None,
    ) -> None:
        self.capacity = capacity
        self.added = 0
        self.arrays = Batch(
            observation=np.zeros((capacity, *observation_shape), np.float32),
            action=np.zeros((capacity, action_length), action_dtype),
            reward=np.zeros(capacity, np.float32),
            discount=np.zeros(capacity, np.float32),
            next_observation=np.zeros((capacity, *observation_shape), np.float32),
            next_mask=None if mask_length is None else np.zeros((capacity, mask_length), bool),
        )

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, transition: Transition) -> int:
        """Takes a transition in, the oldest out; where it now stands."""
        place = self.added % self.capacity
        arrays: tuple[Any, ...] = self.arrays
        for array, value in zip(arrays, transition, strict=True):
            if array is not None:  # Only a mask can be left out, and then all is allowed.
                array[place] = True if value is None else value
        self.added += 1
        return place

    def since(self, first: int) -> dict[str, NDArray[Any]]:
        """The transitions from a number on, in the order they came, by name."""
        places = np.arange(max(first, self.oldest), self.added) % self.capacity
        taken = self.take(places)._asdict()
        return {name: array for name, array in taken.items() if array is not None}

    @property
    def oldest(self) -> int:
        """The number of the oldest transition that is still there."""
        return max(0, self.added - self.capacity)

    def refill(self, first: int, transitions: dict[str, NDArray[Any]]) -> None:
        """Puts transitions back where they were."""
        count = len(next(iter(transitions.values()), ()))
        places = np.arange(first, first + count) % self.capacity
        for name, values in transitions.items():
            getattr(self.arrays, name)[places] = values
        self.added = first + count

    def take(self, places: NDArray[np.intp]) -> Batch:
        """The transitions at these places."""
        arrays: tuple[Any, ...] = self.arrays
        taken: Any = (None if array is None else array.take(places, axis=0) for array in arrays)
        return Batch(*taken)
