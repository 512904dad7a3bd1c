"""What an agent learns from, and what an update gives back."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float, Int, Num

from hyperaction.constraints import Mask


class Batch(NamedTuple):
    """Transitions to learn from, and the weight of each."""

    observation: Num[Array, "batch *shape"]
    action: Num[Array, "batch vertices"]
    reward: Float[Array, " batch"]
    discount: Float[Array, " batch"]
    next_observation: Num[Array, "batch *shape"]
    next_mask: Mask | None
    weight: Float[Array, " batch"] | None
    candidates: Int[Array, "n vertices"] | None = None
    """Actions that best ones are looked for among, where the network takes any."""


class UpdateInfo(NamedTuple):
    """The loss of an update, each transition's for its priority, and what else to log."""

    loss: Float[Array, ""]
    losses: Float[Array, " batch"]
    statistics: dict[str, Float[Array, ""]] = {}  # noqa: RUF012 (never changed)
