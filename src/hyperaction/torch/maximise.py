"""The best joint action of tensors, with gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hyperaction.constraints import Constraints, Mask
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import host, maximiser
from hyperaction.maximise.cost import SECONDS
from hyperaction.maximise.extension import extension
from hyperaction.maximise.hard import check_values
from hyperaction.maximise.masks import mask_of_entries
from hyperaction.torch.indexing import check_outputs, index_of, representation
from hyperaction.torch.masks import Allowed, allowed_of


class Maximum(NamedTuple):
    """The value of each state's best action, and that action."""

    values: Tensor
    """`[...]`, with gradients of the outputs that the best action has."""
    actions: Tensor
    """`[..., num_vertices]`, integers."""


def maximise(
    hypergraph: Hypergraph,
    outputs: Tensor,
    mask: Any = None,
    *,
    weights: Tensor | None = None,
    constraints: Any = None,
    budget: float = SECONDS,
) -> Maximum:
    """The best joint action of every state, and its value: a weighted sum of its outputs.

    It is found on the CPU in single precision, whatever the outputs' device and type; values have
    theirs. Outputs that hold NaN, and masks that leave no action, raise a ValueError.

    Args:
        hypergraph: The hyperedges.
        outputs: All hyperedges' values, `[..., num_outputs]`.
        mask: True where allowed: per sub-action, `[..., sum(sizes)]`, or per hyperedge entry,
            `[..., num_outputs]` (where both are equally long, sub-actions are meant); or a
            dictionary from vertices to arrays over their sub-actions, for all states.
        weights: How much each hyperedge weighs, `[num_edges]`; all the same by default.
        constraints: What is allowed in every state, as `hyperaction.maximiser` takes it.
        budget: The seconds per state that an exact way may take.
    """
    check_outputs(hypergraph, outputs)
    known = extension(hypergraph).constraints
    if constraints is not None:
        known = Constraints.of(hypergraph.sizes, constraints)
    allowed = allowed_of(hypergraph, mask, known, outputs)
    with torch.no_grad():
        flat = outputs.detach().reshape(-1, hypergraph.num_outputs)
        tables, forbids = _tables(allowed, flat, weights)
        if forbids:
            _check_numbers(tables, outputs.shape[:-1])
        actions, exact = _best(allowed, tables, budget)
        if forbids and actions.shape[1] == allowed.extended.hypergraph.num_vertices:
            reached = representation(allowed.extended.hypergraph, tables.cpu(), actions)
            reached = reached.sum(dim=-1).reshape(outputs.shape[:-1])
            check_values(_array(reached), masked=allowed.masked, exact=exact)
    chosen = actions[:, : hypergraph.num_vertices]
    chosen = chosen.to(outputs.device).reshape(*outputs.shape[:-1], hypergraph.num_vertices)
    values = representation(hypergraph, outputs, chosen)
    return Maximum((values if weights is None else values * weights).sum(dim=-1), chosen)


def _tables(allowed: Allowed, outputs: Tensor, weights: Tensor | None) -> tuple[Tensor, bool]:
    """Tables whose sum is to be maximised, and whether they may forbid by minus infinity.

    Plus infinity is cut to what all hyperedges can add up to.
    """
    extended = allowed.extended
    given = outputs
    if weights is not None:
        outputs = outputs * weights.detach()[index_of(extended.base, outputs.device).edge_of_output]
    largest = torch.finfo(torch.float32).max / (4 * extended.hypergraph.num_edges)
    tables = outputs.float()
    usual = not tables.numel() or _within(tables, largest)
    if usual and not allowed.masked:
        return tables, False
    if not usual:  # Infinities or NaN.
        tables = tables.clamp(-largest, largest).masked_fill(given == -torch.inf, -torch.inf)
    if missing := extended.hypergraph.num_outputs - tables.shape[1]:
        tables = nn.functional.pad(tables, (0, missing))
    entries = allowed.entries_of(extended, len(tables), tables.device)
    return (tables if entries is None else tables.masked_fill(~entries, -torch.inf)), True


def _within(tables: Tensor, largest: float) -> bool:
    """Whether all numbers are finite and no larger; in one pass, which keeps NaN."""
    low, high = torch.aminmax(tables)
    return low.item() >= -largest and high.item() <= largest


def _check_numbers(tables: Tensor, batch: torch.Size) -> None:
    """Refuses NaN, unless it is forbidden."""
    if tables.numel() and bool(tables.max().isnan()):
        of_states = tables.max(dim=1).values.reshape(batch)
        check_values(_array(of_states), masked=False, exact=True)


def _best(allowed: Allowed, tables: Tensor, budget: float) -> tuple[Tensor, bool]:
    """The best actions, counters of constraints included where the kernels found them."""
    plan = host.plan(allowed.extended, budget, masked=allowed.masked)
    if plan is None or (plan.start is not None and allowed.entries is not None):
        return _by_jax(allowed, tables, budget)
    start = None if plan.start is None else _allowed_actions(plan.start, allowed, len(tables))
    actions = plan.solve(_array(tables), start)
    return torch.from_numpy(actions).long(), plan.way.exact


def _allowed_actions(solve: host.Solve, allowed: Allowed, states: int) -> host.Actions:
    """An action per state that is allowed, whatever its value."""
    singles = host.of_singles(allowed.extended.constraints)
    device = torch.device("cpu") if allowed.rows is None else allowed.rows.device
    entries = allowed.entries_of(singles, states, device)
    assert entries is not None
    tables = torch.zeros(entries.shape, device=device).masked_fill(~entries, -torch.inf)
    return solve(_array(tables), None)


def _by_jax(allowed: Allowed, tables: Tensor, budget: float) -> tuple[Tensor, bool]:
    """The same by JAX, which has ways that the kernels have not."""
    base, constraints = allowed.extended.base, allowed.extended.constraints
    best = maximiser(base, budget=budget, constraints=constraints if constraints.always else None)
    mask = None if allowed.rows is None else Mask(_array(allowed.rows), constraints)
    if allowed.entries is not None:
        mask = mask_of_entries(base, _array(allowed.entries), constraints)
    actions = best.argmax(_array(tables[:, : base.num_outputs]), mask=mask)
    return torch.from_numpy(np.array(actions)).long(), best.exact


def _array(tensor: Tensor) -> Any:
    """A tensor as a NumPy array, without a copy where it is on the CPU."""
    return tensor.cpu().contiguous().numpy()
