"""A ring of transitions between stacks of frames, each frame kept once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.replay.ring import Batch, Ring, Stream, Transition

NOTHING = -1
"""The number of the frame that is all zeros, which fills a stack up where an episode begins."""

Numbers = NDArray[np.int64]
"""The frames of a stack, as they are counted."""


class Frames:
    """The last `capacity` frames, counted as they came."""

    def __init__(self, capacity: int, shape: tuple[int, ...]) -> None:
        self.capacity, self.added = capacity, 0
        # The last row is the frame of zeros.
        self.array = np.zeros((capacity + 1, *shape), np.uint8)

    @property
    def oldest(self) -> int:
        """The number of the oldest frame that is still there."""
        return max(0, self.added - self.capacity)

    def add(self, frame: NDArray[np.uint8]) -> int:
        """Takes a frame in, the oldest out; its number."""
        self.array[self.added % self.capacity] = frame
        self.added += 1
        return self.added - 1

    def take(self, numbers: Numbers) -> NDArray[np.uint8]:
        """The frames of these numbers."""
        places = np.where(numbers == NOTHING, self.capacity, numbers % self.capacity)
        return self.array.take(places, axis=0)

    def between(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """The frames from a number to another, in the order they came."""
        return {"frame": self.take(np.arange(first, last))}

    def refill(self, first: int, frames: dict[str, NDArray[Any]]) -> None:
        """Puts frames back where they were."""
        count = len(frames["frame"])
        self.array[np.arange(first, first + count) % self.capacity] = frames["frame"]
        self.added = first + count


class FrameRing:
    """Transitions that hold the numbers of their frames, as long as these are there.

    Args:
        capacity: The most frames, and so nearly the most transitions, that are kept.
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
        self._forgotten: list[int] = []

    def __len__(self) -> int:
        return self.numbers.added - self.oldest

    @property
    def is_full(self) -> bool:
        """Whether the oldest make place for new ones."""
        return self.frames.oldest > 0

    @property
    def streams(self) -> dict[str, Stream]:
        """All that only ever grows."""
        return {"replay": self.numbers, "frames": self.frames}

    def keep(self, observation: NDArray[np.uint8], before: Numbers | None) -> Numbers:
        """An observation as its frames' numbers; those that the one before lacks are taken in."""
        stack = observation.reshape(self.stacked, *self.frames.array.shape[1:])
        moved = before is not None and np.array_equal(stack[:-1], self.frames.take(before[1:]))
        if before is not None and moved:
            numbers = np.append(before[1:], self.frames.add(stack[-1]))
        else:
            numbers = self._anew(stack)
        self._forget()
        return numbers

    def _anew(self, stack: NDArray[np.uint8]) -> Numbers:
        """Nothing of the stack is there yet; what fills it up is not kept again and again."""
        numbers: list[int] = []
        for place, frame in enumerate(stack):
            if place < len(stack) - 1 and not frame.any():
                numbers.append(NOTHING)
            elif place and numbers[-1] != NOTHING and np.array_equal(frame, stack[place - 1]):
                numbers.append(numbers[-1])
            else:
                numbers.append(self.frames.add(frame))
        return np.array(numbers)

    def add(self, transition: Transition) -> int:
        """Takes a transition in; where it now stands."""
        numbers = np.concatenate([transition.observation, transition.next_observation])
        oldest = int(numbers[numbers != NOTHING].min())
        if oldest < self.frames.oldest:
            raise ValueError(
                f"--replay-size {self.frames.capacity} cannot hold the frames of one transition"
            )
        self.reach = max(self.reach, int(numbers.max()) - oldest)
        return self.numbers.add(transition)

    def _forget(self) -> None:
        """Leaves out the transitions that may have lost a frame.

        Their newest frames are in order, their oldest need not be where several environments are.
        """
        newest = self.numbers.arrays.next_observation
        while len(self) and self.frames.oldest:
            place = self.oldest % self.numbers.capacity
            if newest[place, -1] - self.reach >= self.frames.oldest:
                return
            self._forgotten.append(place)
            self.oldest += 1

    def forgotten(self) -> list[int]:
        """Where transitions stood that were left out since this was asked last."""
        places, self._forgotten = self._forgotten, []
        return places

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.intp]:
        """Places of transitions, each as likely as any other."""
        return (self.oldest + random.integers(len(self), size=count)) % self.numbers.capacity

    def take(self, places: NDArray[np.intp]) -> Batch:
        """The transitions at these places."""
        batch = self.numbers.take(places)
        return batch._replace(
            observation=self._stacks(batch.observation),
            next_observation=self._stacks(batch.next_observation),
        )

    def _stacks(self, numbers: Numbers) -> NDArray[np.uint8]:
        return self.frames.take(numbers).reshape(-1, *self.observation_shape)

    def state(self) -> dict[str, int]:
        """All that it remembers besides its streams, ready for JSON."""
        return {"oldest": self.oldest, "reach": self.reach}

    def restore(self, state: dict[str, int]) -> None:
        """Remembers it again."""
        self.oldest, self.reach = state["oldest"], state["reach"]
