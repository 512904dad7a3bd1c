"""Sampling in proportion to priorities (Schaul et al., 2016), many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Priorities:
    """A tree of sums over the priorities of a ring's places."""

    def __init__(self, capacity: int) -> None:
        self.leaves = 1 << max(1, (capacity - 1).bit_length())
        self.tree = np.zeros(2 * self.leaves)
        self.largest = 1.0

    def renew(self, forgotten: Sequence[int], stored: Sequence[int]) -> None:
        """Old transitions make place for new ones: these have the largest priority so far.

        So they are soon seen; what was forgotten is not.
        """
        places = np.array([*forgotten, *stored], np.intp)
        if len(places):
            new = np.arange(len(places)) >= len(forgotten)
            self.set(places, np.where(new, self.largest, 0.0))

    def set(self, places: NDArray[np.intp], priorities: NDArray[np.floating]) -> None:
        """Sets priorities; of a place named twice, the last one counts."""
        self.largest = max(self.largest, float(priorities.max()))
        nodes = places + self.leaves
        self.tree[nodes] = priorities
        while nodes[0] > 1:
            nodes = np.unique(nodes // 2)
            self.tree[nodes] = self.tree[2 * nodes] + self.tree[2 * nodes + 1]

    @property
    def priorities(self) -> NDArray[np.float64]:
        """The priority of every place."""
        return self.tree[self.leaves :]

    def refill(self, priorities: NDArray[np.float64], largest: float) -> None:
        """Takes over priorities of all places."""
        self.tree[self.leaves :] = priorities
        for level in range(self.leaves.bit_length() - 2, -1, -1):
            nodes = np.arange(1 << level, 2 << level)
            self.tree[nodes] = self.tree[2 * nodes] + self.tree[2 * nodes + 1]
        self.largest = largest

    def sample(self, count: int, random: np.random.Generator) -> NDArray[np.intp]:
        """Places drawn in proportion to their priorities, one from each of `count` equal shares."""
        targets = (np.arange(count) + random.random(count)) * (self.tree[1] / count)
        nodes = np.ones(count, np.intp)
        while nodes[0] < self.leaves:
            left = 2 * nodes
            # A sum that rounding makes too small must not lead to a place without priority.
            right = (targets >= self.tree[left]) & (self.tree[left + 1] > 0)
            targets = np.where(right, targets - self.tree[left], targets)
            nodes = left + right
        return nodes - self.leaves

    def weights(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """What undoes the bias of sampling: 1 / sqrt(probability), the largest being one."""
        weights = 1.0 / np.sqrt(self.tree[places + self.leaves] / self.tree[1])
        return (weights / weights.max()).astype(np.float32)
