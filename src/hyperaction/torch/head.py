"""The head of a Q-network in PyTorch: from features to the values of joint actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyperaction.blocks import Blocks, head_width, stacks_of, unpadding
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.cost import SECONDS
from hyperaction.torch.indexing import check_actions, check_features, representation
from hyperaction.torch.maximise import Maximum, maximise
from hyperaction.torch.mixers import make_mixer


class HypergraphHead(nn.Module):
    """Values of joint actions from features: a block for every hyperedge, and a mixer.

    Put it where a Q-network has its last layer. It starts as the authors' do: weights
    Xavier-uniform, biases at zero. Heads of nearly equal tables share one batched product.

    Args:
        hypergraph: The hyperedges on the action's vertices.
        features: The length of the features.
        width: Hidden units per head; by default the paper's heuristic. 0 is none: outputs are
            linear in the features.
        mixer: One of `MIXERS`: sum, mean, order-mean or monotonic-linear.
        constraints: What is allowed in every state, as `hyperaction.maximiser` takes it.
        budget: The seconds per state that finding a best action exactly may take.
    """

    def __init__(
        self,
        hypergraph: Hypergraph,
        features: int,
        width: int | None = None,
        *,
        mixer: str = "sum",
        constraints: Any = None,
        budget: float = SECONDS,
    ) -> None:
        super().__init__()
        width = head_width(hypergraph.num_edges) if width is None else width
        if features < 1 or width < 0:
            raise SettingError(
                f"`features` {features} must be at least 1, `width` {width} at least 0"
            )
        self.hypergraph, self.features, self.width = hypergraph, features, width
        self.constraints, self.budget = constraints, budget
        self.hidden = nn.Linear(features, hypergraph.num_edges * width) if width else None
        sizes = hypergraph.table_sizes
        self.stacks = [_index(stack) for stack in stacks_of(sizes)]
        places = _index(unpadding(sizes, stacks_of(sizes)))
        self.places = None if isinstance(places, slice) else places
        tables = [[sizes[edge] for edge in stack] for stack in stacks_of(sizes)]
        self.weights = nn.ParameterList(
            torch.empty(len(stack), max(stack), width or features) for stack in tables
        )
        self.biases = nn.Parameter(torch.empty(hypergraph.num_outputs))
        self.mixer = make_mixer(mixer, hypergraph)
        self._tables = tables
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Starts over: every head is a layer of its own, and what pads its table is zero."""
        if self.hidden is not None:
            _xavier_uniform(self.hidden.weight, self.features, self.width)
            nn.init.zeros_(self.hidden.bias)
        for weights, stack in zip(self.weights, self._tables, strict=True):
            nn.init.zeros_(weights)
            for head, size in enumerate(stack):
                _xavier_uniform(weights.data[head, :size], self.width or self.features, size)
        nn.init.zeros_(self.biases)

    @classmethod
    def from_blocks(cls, blocks: Blocks, mixer: str = "sum", **options: Any) -> HypergraphHead:
        """A head with the weights of a JAX network's blocks, such as `agent.network.blocks`."""
        blocks = blocks.mean
        width = blocks.weights[0].shape[-1] if blocks.hidden is not None else 0
        features = (
            blocks.weights[0].shape[-1] if blocks.hidden is None else blocks.hidden.in_features
        )
        head = cls(blocks.hypergraph, int(features), int(width), mixer=mixer, **options)
        pairs: list[tuple[Tensor, Any]] = list(zip(head.weights, blocks.weights, strict=True))
        pairs.append((head.biases, blocks.biases))
        if blocks.hidden is not None and head.hidden is not None:
            pairs.append((head.hidden.weight, blocks.hidden.weight))
            pairs.append((head.hidden.bias, blocks.hidden.bias))
        with torch.no_grad():
            for own, given in pairs:
                own.copy_(torch.from_numpy(np.array(given)))
        return head

    def forward(self, features: Tensor) -> Tensor:
        """All hyperedges' values, side by side: `[..., num_outputs]` from `[..., features]`."""
        check_features(features, self.features)
        batch = features.shape[:-1]
        if self.hidden is None:
            each = [features @ weights.flatten(0, 1).T for weights in self.weights]
        else:
            heads = self.hidden(features).relu().reshape(-1, self.hypergraph.num_edges, self.width)
            heads = heads.transpose(0, 1)
            each = [
                torch.bmm(heads[stack], weights.transpose(1, 2)).transpose(0, 1).reshape(*batch, -1)
                for stack, weights in zip(self.stacks, self.weights, strict=True)
            ]
        outputs = each[0] if len(each) == 1 else torch.cat(each, dim=-1)
        return (outputs if self.places is None else outputs[..., self.places]) + self.biases

    def q_values(self, features: Tensor, actions: Tensor) -> Tensor:
        """The value of an action in each state, `[...]` from `[..., features]`, `[..., vertices]`.

        Leading axes of features and actions broadcast.
        """
        outputs = self(features)
        check_actions(self.hypergraph, actions, outputs.device)
        axes = max(outputs.ndim, actions.ndim)
        outputs = outputs.reshape((1,) * (axes - outputs.ndim) + outputs.shape)
        actions = actions.reshape((1,) * (axes - actions.ndim) + actions.shape)
        values: Tensor = self.mixer(representation(self.hypergraph, outputs, actions))
        return values

    def maximise(self, features: Tensor, mask: Any = None) -> Maximum:
        """The best action in each state that the mask allows, and its value, with gradients."""
        values, actions = maximise(
            self.hypergraph,
            self(features),
            mask,
            weights=self.mixer.weights(),
            constraints=self.constraints,
            budget=self.budget,
        )
        return Maximum(values + self.mixer.constant(), actions)

    def max(self, features: Tensor, mask: Any = None) -> Tensor:
        """The value of the best action in each state that the mask allows."""
        return self.maximise(features, mask).values

    @torch.no_grad()
    def greedy(self, features: Tensor, mask: Any = None) -> Tensor:
        """The best action in each state that the mask allows."""
        return self.maximise(features, mask).actions

    def extra_repr(self) -> str:
        """What it is, beside its layers."""
        return f"{self.hypergraph!r}, features={self.features}, width={self.width}"


def _xavier_uniform(weights: Tensor, fan_in: int, fan_out: int) -> None:
    limit = (6.0 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(weights, -limit, limit)


def _index(places: Any) -> slice | list[int]:
    """Places as a slice where they count up: a slice is free, a gather is not."""
    first, last = int(places[0]), int(places[-1])
    if np.array_equal(places, np.arange(first, last + 1)):
        return slice(first, last + 1)
    return [int(place) for place in places]
