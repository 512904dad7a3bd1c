"""A ring of transitions between stacks of frames, each frame stored once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.errors import SettingError
from hyperaction.replay.ring import Ring, Stream, Transition, Transitions

PADDING = -1
"""The number of the frame of zeros that fills up a stack where an episode begins."""

Numbers = NDArray[np.int64]
"""The frames of a stack, as they are counted."""


class Frames:
    """The last `capacity` frames, counted as they came."""

    def __init__(self, capacity: int, shape: tuple[int, ...]) -> None:
        self.capacity, self.added = capacity, 0
        self.first = 0
        """The number of the first frame that was not lost with a damaged file."""
        # The last row is the frame of zeros.
        self.array = np.zeros((capacity + 1, *shape), np.uint8)

    @property
    def oldest(self) -> int:
        """The number of the oldest frame that is still there."""
        return max(self.first, self.added - self.capacity)

    def add(self, frame: NDArray[np.uint8]) -> int:
        """Stores a frame in place of the oldest; its number."""
        self.array[self.added % self.capacity] = frame
        self.added += 1
        return self.added - 1

    def take(self, numbers: Numbers) -> NDArray[np.uint8]:
        """The frames of these numbers."""
        slots = np.where(numbers == PADDING, self.capacity, numbers % self.capacity)
        return self.array.take(slots, axis=0)

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The frames from one number to another, in the order they came."""
        return {"frame": self.take(np.arange(first, last))}

    def refill(self, first: int, frames: dict[str, NDArray[Any]]) -> None:
        """Puts frames back where they were."""
        count = len(frames["frame"])
        self.array[np.arange(first, first + count) % self.capacity] = frames["frame"]
        self.added = first + count


class FrameRing:
    """Transitions that hold the numbers of their frames, as long as these are there.

    Args:
        capacity: The most frames, and so nearly the most transitions, that are stored.
        observation_shape: The shape of an observation.
        stacked: How many frames an observation is a stack of.
        action_length: Numbers in an action.
        action_dtype: Their type.
        mask_length: Entries of an action mask, if there are any.
    """

    def __init__(
        self,
        capacity: int,
        observation_shape: tuple[int, ...],
        stacked: int,
        action_length: int,
        action_dtype: type[np.generic] = np.int32,
        mask_length: int | None = None,
    ) -> None:
        shape = observation_shape if stacked == 1 else observation_shape[1:]
        self.observation_shape, self.stacked = observation_shape, stacked
        self.frames = Frames(capacity, shape)
        self.numbers = Ring(
            capacity, (stacked,), action_length, action_dtype, mask_length, np.int64
        )
        self.oldest = 0
        """The number of the oldest transition whose frames are all there."""
        self.reach = 0
        """The most frames that lie between a transition's oldest and its newest."""
        self._evicted: list[int] = []

    def __len__(self) -> int:
        return self.numbers.added - self.oldest

    @property
    def is_full(self) -> bool:
        """Whether new frames replace the oldest."""
        return self.frames.added - self.frames.first > self.frames.capacity

    @property
    def arrays(self) -> Transitions:
        """The transitions, as the numbers of their frames."""
        return self.numbers.arrays

    @property
    def streams(self) -> dict[str, Stream]:
        """Everything that only grows."""
        return {"replay": self.numbers, "frames": self.frames}

    def encode(self, observation: NDArray[np.uint8], last: Numbers | None) -> Numbers:
        """An observation as its frames' numbers; frames that the last one lacks are stored."""
        stack = observation.reshape(self.stacked, *self.frames.array.shape[1:])
        moved = last is not None and np.array_equal(stack[:-1], self.frames.take(last[1:]))
        if last is not None and moved:
            numbers = np.append(last[1:], self.frames.add(stack[-1]))
        else:
            numbers = self._add_stack(stack)
        self._evict()
        return numbers

    def _add_stack(self, stack: NDArray[np.uint8]) -> Numbers:
        """Stores a whole stack; padding and repeated frames are stored once."""
        numbers: list[int] = []
        for index, frame in enumerate(stack):
            if index < len(stack) - 1 and not frame.any():
                numbers.append(PADDING)
            elif index and numbers[-1] != PADDING and np.array_equal(frame, stack[index - 1]):
                numbers.append(numbers[-1])
            else:
                numbers.append(self.frames.add(frame))
        return np.array(numbers)

    def add(self, transition: Transition) -> int:
        """Stores a transition; its slot."""
        numbers = np.concatenate([transition.observation, transition.next_observation])
        oldest = int(numbers[numbers != PADDING].min())
        if oldest < self.frames.oldest:
            raise SettingError(
                f"`buffer_size` {self.frames.capacity} cannot hold the frames of one transition"
            )
        self.reach = max(self.reach, int(numbers.max()) - oldest)
        return self.numbers.add(transition)

    def _evict(self) -> None:
        """Drops the transitions that may have lost a frame.

        Their newest frames are in order, their oldest need not be where several environments are.
        """
        newest = self.numbers.arrays.next_observation
        while len(self) and self.frames.oldest:
            slot = self.oldest % self.numbers.capacity
            if newest[slot, -1] - self.reach >= self.frames.oldest:
                return
            self._evicted.append(slot)
            self.oldest += 1

    @property
    def slots(self) -> NDArray[np.intp]:
        """The slots of all transitions that are there."""
        return np.arange(self.oldest, self.numbers.added) % self.numbers.capacity

    def drop_before(self, numbers: Mapping[str, int]) -> None:
        """Drops what came before a number of a stream, which was lost, and what needs it."""
        self.numbers.drop_before(numbers)
        self.frames.first = numbers.get("frames", self.frames.first)
        self.frames.added = max(self.frames.added, self.frames.first)
        self.oldest = max(self.oldest, self.numbers.oldest)
        self._evict()

    def pop_evicted(self) -> list[int]:
        """Slots whose transitions were dropped since this was called last."""
        slots, self._evicted = self._evicted, []
        return slots

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Slots of transitions, each as likely as any other."""
        return (self.oldest + rng.integers(len(self), size=count)) % self.numbers.capacity

    def take(self, slots: NDArray[np.intp]) -> Transitions:
        """The transitions in these slots."""
        taken = self.numbers.take(slots)
        return taken._replace(
            observation=self._stacks(taken.observation),
            next_observation=self._stacks(taken.next_observation),
        )

    def _stacks(self, numbers: Numbers) -> NDArray[np.uint8]:
        return self.frames.take(numbers).reshape(-1, *self.observation_shape)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the streams' entries."""
        return {
            "oldest": self.oldest,
            "reach": self.reach,
            "numbers": self.numbers.state_dict(),
            "first_frame": self.frames.first,
        }

    def state_like(self) -> Any:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`."""
        earlier = {"oldest": 0, "reach": 0}  # Versions had no more than these.
        return (earlier, self.state_dict() | {"numbers": self.numbers.state_like()})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave."""
        self.oldest, self.reach = state["oldest"], state["reach"]
        self.numbers.load_state_dict(state.get("numbers", {}))
        self.frames.first = state.get("first_frame", 0)
