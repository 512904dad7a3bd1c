"""Masks: which joint actions are allowed in which state, with the constraints that they are of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from hyperaction.constraints import Constraints, Mask, tables_of
from hyperaction.hypergraph import Hypergraph

# A mask's constraints decide what is compiled, and its rows are what is computed with.
jax.tree_util.register_dataclass(Mask, data_fields=["rows"], meta_fields=["constraints"])


def as_mask(
    hypergraph: Hypergraph, given: Any, constraints: Constraints | None = None
) -> Mask | None:
    """A mask from one, from an array that has a row per state, or from tables of the vertices.

    An array's rows have an entry per sub-action, `[..., sum(sizes)]`, or one per entry of the
    hyperedges' tables, `[..., num_outputs]`; where both are equally long, sub-actions are meant. A
    dictionary from vertices to arrays over their sub-actions is for all states. What the
    constraints say of every state holds besides.
    """
    if isinstance(given, Mask):
        return given if given.rows is not None or given.constraints.always else None
    known = Constraints(hypergraph.sizes) if constraints is None else constraints
    if given is None:
        return Mask(None, known) if known.always else None
    if isinstance(given, dict):
        mask = mask_of_tables(given, known)
        return Mask(jnp.asarray(mask.rows), mask.constraints)
    rows = jnp.asarray(given)
    if rows.dtype != bool:
        raise ValueError(f"a mask holds true where allowed, not {rows.dtype}")
    length = rows.shape[-1] if rows.ndim else 0
    sub_actions = sum(hypergraph.sizes)
    if length == sub_actions:
        return Mask(rows, replace(known, scopes=()))
    if length != hypergraph.num_outputs:
        raise ValueError(
            f"the mask has shape {rows.shape}; its last axis must be {sub_actions} long, one per "
            f"sub-action, or {hypergraph.num_outputs}, one per hyperedge entry"
        )
    return mask_of_entries(hypergraph, rows, known)


def mask_of_tables(given: dict[Any, Any], known: Constraints) -> Mask:
    """A mask of one row, from a dictionary from vertices to arrays over their sub-actions."""
    tables = tables_of(given, known.sizes)
    known = replace(known, scopes=tuple(scope for scope in tables if len(scope) > 1))
    return Mask(known.row(tables), known)


def mask_of_entries(
    hypergraph: Hypergraph, rows: Bool[Any, "*batch outputs"], known: Constraints | None = None
) -> Mask:
    """A mask from what is allowed of every entry of the hyperedges' tables."""
    known = Constraints(hypergraph.sizes) if known is None else known
    joint = tuple(edge for edge in hypergraph.edges if len(edge) > 1)
    constraints = replace(known, scopes=joint)
    places = dict(zip(hypergraph.edges, hypergraph.slices, strict=True))
    columns = [
        np.r_[places[scope]] if scope in places else np.full(hypergraph.sizes[scope[0]], -1)
        for scope in constraints.starts
    ]
    # The last column, true, is what vertices without a hyperedge of their own have.
    padded = jnp.concatenate([rows, jnp.ones((*rows.shape[:-1], 1), bool)], axis=-1)
    return Mask(padded[..., np.concatenate(columns)], constraints)
