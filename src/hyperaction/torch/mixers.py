"""Mixers in PyTorch: those that are weighted sums of the hyperedges' values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hyperaction.errors import SettingError, unknown
from hyperaction.hypergraph import Hypergraph


class Sum(nn.Module):
    """The sum of the hyperedges' values."""

    def weights(self) -> Tensor | None:
        """How much each hyperedge weighs; None where all weigh 1."""
        return None

    def constant(self) -> Tensor | float:
        """What is added to the weighted sum."""
        return 0.0

    def forward(self, representation: Tensor) -> Tensor:
        """The values of actions, from their representations."""
        weights = self.weights()
        weighted = representation if weights is None else representation * weights
        return weighted.sum(dim=-1) + self.constant()


class Weighted(Sum):
    """A sum of the hyperedges' values with weights that follow from the hyperedges."""

    fixed: Tensor

    def __init__(self, weights: list[float]) -> None:
        super().__init__()
        self.register_buffer("fixed", torch.tensor(weights), persistent=False)

    def weights(self) -> Tensor:
        """How much each hyperedge weighs."""
        return self.fixed


class MonotonicLinear(Sum):
    """A learned weighted sum of the hyperedges' values, the weights never negative."""

    def __init__(self, num_edges: int) -> None:
        super().__init__()
        self.out = nn.Linear(num_edges, 1)
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def weights(self) -> Tensor:
        """How much each hyperedge weighs."""
        return self.out.weight[0].abs()

    def constant(self) -> Tensor:
        """What is added to the weighted sum."""
        return self.out.bias[0]


def _order_mean(hypergraph: Hypergraph) -> Sum:
    orders = [len(edge) for edge in hypergraph.edges]
    counts = Counter(orders)
    return Weighted([1.0 / counts[order] for order in orders])


MIXERS: dict[str, Callable[[Hypergraph], Sum]] = {
    "sum": lambda hypergraph: Sum(),
    "mean": lambda hypergraph: Weighted([1.0 / hypergraph.num_edges] * hypergraph.num_edges),
    "order-mean": _order_mean,
    "monotonic-linear": lambda hypergraph: MonotonicLinear(hypergraph.num_edges),
}
"""The mixers that PyTorch's head has, as `hyperaction.make_mixer` calls them."""


def make_mixer(name: str, hypergraph: Hypergraph) -> Sum:
    """The mixer of that name."""
    if name not in MIXERS:
        raise SettingError(f"`mixer`: {unknown('mixer', name, MIXERS)}")
    return MIXERS[name](hypergraph)
