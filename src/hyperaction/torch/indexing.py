"""Where actions find their values among the outputs, in tensors; and checks of what is given."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph


class Index(NamedTuple):
    """A hypergraph in tensors: each hyperedge's vertices, with as many columns as the rank."""

    vertices: Tensor
    strides: Tensor
    """How far a sub-action moves the index; zero in columns past the hyperedge's order."""
    offsets: Tensor
    sizes: Tensor
    edge_of_output: Tensor


@lru_cache(maxsize=64)
def index_of(hypergraph: Hypergraph, device: torch.device) -> Index:
    """The index of a hypergraph on a device, made once."""
    shape = (hypergraph.num_edges, hypergraph.rank)
    vertices, strides = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape, dtype=torch.int64)
    for number, edge in enumerate(hypergraph.edges):
        vertices[number, : len(edge)] = torch.tensor(edge)
        own = hypergraph.strides[list(edge), number]
        strides[number, : len(edge)] = torch.from_numpy(own)
    arrays = hypergraph.offsets, hypergraph.edge_of_output
    offsets, edge_of_output = (torch.from_numpy(array).long() for array in arrays)
    sizes = torch.tensor(hypergraph.sizes)
    return Index(*(each.to(device) for each in (vertices, strides, offsets, sizes, edge_of_output)))


def representation(hypergraph: Hypergraph, outputs: Tensor, actions: Tensor) -> Tensor:
    """The representation of each action: its one value per hyperedge, `[..., num_edges]`.

    Leading axes broadcast. Differentiable in the outputs.
    """
    index = index_of(hypergraph, outputs.device)
    places = (actions[..., index.vertices] * index.strides).sum(dim=-1) + index.offsets
    return torch.take_along_dim(outputs, places, dim=-1)


def check_outputs(hypergraph: Hypergraph, outputs: Tensor) -> None:
    """Refuses what are not outputs of the hypergraph."""
    if not isinstance(hypergraph, Hypergraph):
        raise SettingError(
            f"`hypergraph` must be a Hypergraph, such as Hypergraph.complete([3, 3], rank=2), "
            f"not {type(hypergraph).__name__}"
        )
    _check_tensor("outputs", outputs, hypergraph.num_outputs, "one per output of the hypergraph")
    if not outputs.is_floating_point():
        raise SettingError(f"`outputs` must be real numbers, not {outputs.dtype}")


def check_features(features: Tensor, length: int) -> None:
    """Refuses what are not features of that length."""
    _check_tensor("features", features, length, "as the head was made for")


def check_actions(hypergraph: Hypergraph, actions: Tensor, device: torch.device) -> None:
    """Refuses what are not joint actions."""
    _check_tensor("actions", actions, hypergraph.num_vertices, "one per vertex")
    if actions.is_floating_point() or actions.is_complex() or actions.dtype == torch.bool:
        raise SettingError(f"`actions` must be integers (sub-actions), not {actions.dtype}")
    check_device("actions", actions, device)
    wrong = (actions < 0) | (actions >= index_of(hypergraph, device).sizes)
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        vertex = place[-1]
        raise SettingError(
            f"`actions`: sub-action {actions[place].item()} of vertex {vertex} is out of range "
            f"(0 to {hypergraph.sizes[vertex] - 1})"
        )


def check_device(name: str, tensor: Tensor, device: torch.device) -> None:
    """Refuses a tensor on another device."""
    if tensor.device != device:
        raise SettingError(f"`{name}` must be on {device}, as the outputs are, not {tensor.device}")


def _check_tensor(name: str, given: Tensor, length: int, meaning: str) -> None:
    if not isinstance(given, Tensor):
        raise SettingError(f"`{name}` must be a tensor, not {type(given).__name__}")
    if given.ndim == 0 or given.shape[-1] != length:
        shape = tuple(given.shape)
        raise SettingError(
            f"`{name}` has shape {shape}; its last axis must be {length} long, {meaning}"
        )
