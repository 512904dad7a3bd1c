"""Sampling in proportion to priorities (Schaul et al., 2016), many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Priorities:
    """A tree of sums over the priorities of a ring's slots.

    Args:
        capacity: How many slots.
        weight_exponent: How far weights correct the bias of sampling; 1 is in full.
    """

    def __init__(self, capacity: int, weight_exponent: float = 0.5) -> None:
        self.weight_exponent = weight_exponent
        self.leaves = 1 << max(1, (capacity - 1).bit_length())
        self.tree = np.zeros(2 * self.leaves)
        self.largest = 1.0

    def renew(self, evicted: Sequence[int], stored: Sequence[int]) -> None:
        """New transitions get the largest priority so far, so that they are sampled soon.

        Evicted ones get none.
        """
        slots = np.array([*evicted, *stored], np.intp)
        if len(slots):
            new = np.arange(len(slots)) >= len(evicted)
            self.set(slots, np.where(new, self.largest, 0.0))

    def set(self, slots: NDArray[np.intp], priorities: NDArray[np.floating]) -> None:
        """Sets priorities; of a slot named twice, the last one counts."""
        self.largest = max(self.largest, float(priorities.max()))
        nodes = slots + self.leaves
        self.tree[nodes] = priorities
        while nodes[0] > 1:
            nodes = np.unique(nodes // 2)
            self.tree[nodes] = self.tree[2 * nodes] + self.tree[2 * nodes + 1]

    def keep(self, slots: NDArray[np.intp]) -> None:
        """Takes the priorities of all other slots away."""
        kept = np.zeros(self.leaves)
        kept[slots] = self.priorities[slots]
        self.load_state_dict({"priorities": kept, "largest": self.largest})

    @property
    def priorities(self) -> NDArray[np.float64]:
        """The priority of every slot."""
        return self.tree[self.leaves :]

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Slots drawn in proportion to their priorities, one from each of `count` equal shares."""
        targets = (np.arange(count) + rng.random(count)) * (self.tree[1] / count)
        nodes = np.ones(count, np.intp)
        while nodes[0] < self.leaves:
            left = 2 * nodes
            # A sum that rounding makes too small must not lead to a slot without priority.
            right = (targets >= self.tree[left]) & (self.tree[left + 1] > 0)
            targets = np.where(right, targets - self.tree[left], targets)
            nodes = left + right
        return nodes - self.leaves

    def weights(self, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """Corrects the bias of sampling: 1 / probability ** exponent, the largest being one."""
        probabilities = self.tree[slots + self.leaves] / self.tree[1]
        weights = 1.0 / probabilities**self.weight_exponent
        return (weights / weights.max()).astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """The priorities of all slots, and the largest so far."""
        return {"priorities": self.priorities, "largest": self.largest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave."""
        self.tree[self.leaves :] = state["priorities"]
        for level in range(self.leaves.bit_length() - 2, -1, -1):
            nodes = np.arange(1 << level, 2 << level)
            self.tree[nodes] = self.tree[2 * nodes] + self.tree[2 * nodes + 1]
        self.largest = state["largest"]
