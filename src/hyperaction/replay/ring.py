"""A ring of transitions in preallocated arrays."""

from __future__ import annotations

from collections.abc import Mapping
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


class Transitions(NamedTuple):
    """Many transitions, an array for each part of them."""

    observation: NDArray[Any]
    action: NDArray[Any]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    next_observation: NDArray[Any]
    next_mask: NDArray[np.bool_] | None


class Stream(Protocol):
    """Entries that are numbered as they come; the oldest are dropped when it is full."""

    added: int

    @property
    def oldest(self) -> int:
        """The number of the oldest entry that is still there."""
        ...

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The entries from one number to another, in the order they came, by name."""
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
        self.first = 0
        """The number of the first transition that was not lost with a damaged file."""
        observation = (capacity, *observation_shape)
        self.arrays = Transitions(
            observation=np.zeros(observation, observation_dtype),
            action=np.zeros((capacity, action_length), action_dtype),
            reward=np.zeros(capacity, np.float32),
            discount=np.zeros(capacity, np.float32),
            next_observation=np.zeros(observation, observation_dtype),
            next_mask=None if mask_length is None else np.zeros((capacity, mask_length), bool),
        )

    def __len__(self) -> int:
        return self.added - self.oldest

    @property
    def is_full(self) -> bool:
        """Whether new transitions replace the oldest."""
        return len(self) >= self.capacity

    @property
    def streams(self) -> dict[str, Stream]:
        """Everything that only grows."""
        return {"replay": self}

    def encode(self, observation: NDArray[Any], last: NDArray[Any] | None) -> NDArray[Any]:
        """An observation as transitions hold it: as it is."""
        return observation

    def add(self, transition: Transition) -> int:
        """Stores a transition in place of the oldest; its slot."""
        slot = self.added % self.capacity
        arrays: tuple[Any, ...] = self.arrays
        for array, value in zip(arrays, transition, strict=True):
            if array is not None:  # Only a mask can be left out, and then all is allowed.
                array[slot] = True if value is None else value
        self.added += 1
        return slot

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The transitions from one number to another, in the order they came, by name."""
        taken = self.take(np.arange(first, last) % self.capacity)._asdict()
        return {name: array for name, array in taken.items() if array is not None}

    @property
    def oldest(self) -> int:
        """The number of the oldest transition that is still there."""
        return max(self.first, self.added - self.capacity)

    @property
    def slots(self) -> NDArray[np.intp]:
        """The slots of all transitions that are there."""
        return np.arange(self.oldest, self.added) % self.capacity

    def drop_before(self, numbers: Mapping[str, int]) -> None:
        """Drops what came before a number of a stream, which was lost."""
        self.first = numbers.get("replay", self.first)
        self.added = max(self.added, self.first)

    def refill(self, first: int, transitions: dict[str, NDArray[Any]]) -> None:
        """Puts transitions back where they were."""
        count = len(next(iter(transitions.values()), ()))
        slots = np.arange(first, first + count) % self.capacity
        for name, values in transitions.items():
            getattr(self.arrays, name)[slots] = values
        self.added = first + count

    def pop_evicted(self) -> list[int]:
        """Slots whose transitions were dropped without being replaced: none."""
        return []

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Slots of transitions, each as likely as any other."""
        return (self.first + rng.integers(len(self), size=count)) % self.capacity

    def take(self, slots: NDArray[np.intp]) -> Transitions:
        """The transitions in these slots."""
        arrays: tuple[Any, ...] = self.arrays
        taken: Any = (None if array is None else array.take(slots, axis=0) for array in arrays)
        return Transitions(*taken)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the streams' entries."""
        return {"first": self.first}

    def state_like(self) -> Any:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`."""
        return ({}, self.state_dict())  # Runs of earlier versions have none.

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave."""
        self.first = state.get("first", 0)
