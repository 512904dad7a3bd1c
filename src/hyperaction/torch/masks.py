"""Which joint actions are allowed, in tensors."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperaction.constraints import Constraints, Mask
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.extension import Extension, extension
from hyperaction.maximise.masks import mask_of_tables
from hyperaction.torch.indexing import check_device


class Allowed(NamedTuple):
    """What is allowed in a batch of states."""

    extended: Extension
    """The hyperedges, with those of the constraints."""
    rows: Tensor | None
    """The mask of each state, `[batch, extended.constraints.num_entries]`; None where all is."""
    entries: Tensor | None
    """What is allowed of every entry of the hypergraph's own tables; None where rows say it."""

    @property
    def masked(self) -> bool:
        """Whether anything may be forbidden."""
        given = self.rows is not None or self.entries is not None
        return given or self.extended.constraints.always

    def entries_of(self, extended: Extension, states: int, device: torch.device) -> Tensor | None:
        """What is allowed of every entry of an extended hypergraph, `[states, num_outputs]`."""
        sources, always = _index_of(extended, device)
        if self.entries is not None:
            missing = extended.hypergraph.num_outputs - self.entries.shape[1]
            padded = torch.nn.functional.pad(self.entries, (0, missing), value=True)
            return padded & always
        if self.rows is None:
            return always.expand(states, -1) if extended.constraints.always else None
        padded = torch.nn.functional.pad(self.rows, (0, 1), value=True)
        allowed = padded[:, sources].all(dim=-1)
        return allowed & always if extended.constraints.always else allowed


@lru_cache(maxsize=64)
def _index_of(extended: Extension, device: torch.device) -> tuple[Tensor, Tensor]:
    sources, always = extended.sources.astype(np.int64), extended.always
    return torch.from_numpy(sources).to(device), torch.from_numpy(always).to(device)


def allowed_of(
    hypergraph: Hypergraph, given: Any, constraints: Constraints, outputs: Tensor
) -> Allowed:
    """What a mask in any form and constraints allow.

    Args:
        hypergraph: The hyperedges.
        given: A boolean tensor per sub-action, `[..., sum(sizes)]`, or per entry of the tables,
            `[..., num_outputs]` (where both are equally long, sub-actions are meant); a dictionary
            from vertices to arrays over their sub-actions; a `Mask`; or None.
        constraints: What holds in every state.
        outputs: The outputs that it is about.
    """
    if isinstance(given, dict):
        given = mask_of_tables(given, constraints)
    if given is None or (isinstance(given, Mask) and given.rows is None):
        known = constraints if given is None else given.constraints
        return Allowed(extension(hypergraph, known), None, None)
    batch = outputs.shape[:-1]
    if isinstance(given, Mask):
        rows = torch.from_numpy(np.array(given.rows)).to(outputs.device)
        return Allowed(extension(hypergraph, given.constraints), _over(rows, batch), None)
    mask = _checked(given, outputs.device)
    length, sub_actions = mask.shape[-1], sum(hypergraph.sizes)
    extended = extension(hypergraph, replace(constraints, scopes=()))
    if length == sub_actions:
        return Allowed(extended, _over(mask, batch), None)
    if length != hypergraph.num_outputs:
        raise SettingError(
            f"`mask` has shape {tuple(mask.shape)}; its last axis must be {sub_actions} long, one "
            f"per sub-action, or {hypergraph.num_outputs}, one per hyperedge entry"
        )
    return Allowed(extended, None, _over(mask, batch))


def _checked(given: Any, device: torch.device) -> Tensor:
    if not isinstance(given, Tensor):
        raise SettingError(
            f"`mask` must be a tensor, or a dictionary from vertices to arrays, "
            f"not {type(given).__name__}"
        )
    if given.dtype != torch.bool:
        raise SettingError(f"`mask` must hold true where allowed, not {given.dtype}")
    check_device("mask", given, device)
    return given.reshape(1) if given.ndim == 0 else given


def _over(mask: Tensor, batch: torch.Size) -> Tensor:
    """The mask with the outputs' leading axes, flat."""
    try:
        fits = np.broadcast_shapes(mask.shape[:-1], batch) == batch
    except ValueError:
        fits = False
    if not fits:
        raise SettingError(
            f"`mask` has shape {tuple(mask.shape)}, but the outputs have {tuple(batch)} states"
        )
    return mask.expand(*batch, mask.shape[-1]).reshape(batch.numel(), mask.shape[-1])
