"""What an agent learns from, and what it tells about it."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Bool, Float, Num


class Minibatch(NamedTuple):
    """Transitions to learn from, and what each one weighs."""

    observation: Num[Array, "batch *shape"]
    action: Num[Array, "batch vertices"]
    reward: Float[Array, " batch"]
    discount: Float[Array, " batch"]
    next_observation: Num[Array, "batch *shape"]
    next_mask: Bool[Array, "batch entries"] | None
    weight: Float[Array, " batch"] | None


class Learned(NamedTuple):
    """What an update tells: its loss, and each transition's for its priority."""

    loss: Float[Array, ""]
    losses: Float[Array, " batch"]
