"""A ring of transitions in preallocated arrays."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Transition(NamedTuple):
    """What happened in one step, or in n.

    `discount` is zero where the episode terminated. A time limit is not a termination:
    `next_observation` is then the true last observation, and the discount stays.
    """

    observation: NDArray[Any]
    action: NDArray[Any]
    reward: float
    discount: float
    next_observation: NDArray[Any]
    next_mask: NDArray[np.bool_] | None = None


class Batch(NamedTuple):
    """Transitions side by side."""

    observation: NDArray[Any]
    action: NDArray[Any]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    next_observation: NDArray[Any]
    next_mask: NDArray[np.bool_] | None


class Stream(Protocol):
    """What only ever grows, and forgets what is oldest."""

    added: int

    @property
    def oldest(self) -> int:
        """The number of the oldest entry that is still there."""
        ...

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The entries from a number to another, in the order they came, by name."""
        ...

    def refill(self, first: int, entries: dict[str, NDArray[Any]]) -> None:
        """Puts entries back where they were."""
        ...


class Ring:
    """The last `capacity` transitions."""

    def __init__(
        self,
        capacity: int,
        observation_shape: tuple[int, ...],
        action_length: int,
        action_dtype: type[np.generic] = np.int32,
        mask_length: int | None = None,
        observation_dtype: type[np.generic] = np.float32,
    ) -> None:
        self.capacity = capacity
        self.added = 0
        observation = (capacity, *observation_shape)
        self.arrays = Batch(
            observation=np.zeros(observation, observation_dtype),
            action=np.zeros((capacity, action_length), action_dtype),
            reward=np.zeros(capacity, np.float32),
            discount=np.zeros(capacity, np.float32),
            next_observation=np.zeros(observation, observation_dtype),
            next_mask=None if mask_length is None else np.zeros((capacity, mask_length), bool),
        )

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    @property
    def streams(self) -> dict[str, Stream]:
        """All that only ever grows."""
        return {"replay": self}

    def keep(self, observation: NDArray[Any], before: NDArray[Any] | None) -> NDArray[Any]:
        """An observation as transitions hold it: as it is."""
        return observation

    def add(self, transition: Transition) -> int:
        """Takes a transition in, the oldest out; where it now stands."""
        place = self.added % self.capacity
        arrays: tuple[Any, ...] = self.arrays
        for array, value in zip(arrays, transition, strict=True):
            if array is not None:  # Only a mask can be left out, and then all is allowed.
                array[place] = True if value is None else value
        self.added += 1
        return place

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The transitions from a number to another, in the order they came, by name."""
        places = np.arange(first, last) % self.capacity
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

    @property
    def is_full(self) -> bool:
        """Whether the oldest make place for new ones."""
        return self.added >= self.capacity

    def forgotten(self) -> list[int]:
        """Where transitions stood that nothing has taken the place of: nowhere."""
        return []

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.intp]:
        """Places of transitions, each as likely as any other."""
        return random.integers(len(self), size=count)

    def take(self, places: NDArray[np.intp]) -> Batch:
        """The transitions at these places."""
        arrays: tuple[Any, ...] = self.arrays
        taken: Any = (None if array is None else array.take(places, axis=0) for array in arrays)
        return Batch(*taken)

    def state(self) -> dict[str, int]:
        """All that it remembers besides its streams, ready for JSON."""
        return {}

    def restore(self, state: dict[str, int]) -> None:
        """Remembers it again."""
