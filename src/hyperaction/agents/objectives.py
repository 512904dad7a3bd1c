"""Objectives: what the online network learns from a transition.

An objective gives the losses of one transition from the online network, the target network and the
transition; their mean is minimised. To add one, write a frozen dataclass with `losses` here and
register it, or pass an object of your own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from hyperaction.agents.parts import check

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from hyperaction.agents.batch import Batch
    from hyperaction.networks import QNetwork

LossName = Literal["mse", "huber"]


@dataclass(frozen=True)
class TD:
    """Temporal differences of mixed values: Q-learning."""

    double: bool = False
    """Double Q-learning: the online network chooses the next action, the target network evaluates
    it."""
    loss: LossName = "mse"
    """The loss of a temporal-difference error."""

    def __post_init__(self) -> None:
        check(self)

    def losses(
        self, online: QNetwork, target: QNetwork, transition: Batch
    ) -> Float[Array, " errors"]:
        """The loss of one transition."""
        import jax

        observation, mask = transition.next_observation, transition.next_mask
        values = online(transition.observation, transition.action)[None]
        if self.double:
            action = jax.lax.stop_gradient(online).greedy(observation, mask=mask)
            next_value = target(observation, action)
        else:
            next_value = target.max(observation, mask=mask)
        return td_losses(self.loss, transition, values, next_value[None])


@dataclass(frozen=True)
class Branching:
    """Branching DQN (Tavakoli et al., 2018): every hyperedge learns by itself."""

    towards: Literal["mean", "max", "independent"] = "mean"
    """What hyperedges learn towards: the mean or the largest of their next values, or each its
    own."""
    double: bool = False
    """The online network chooses the next action, the target network evaluates it."""
    loss: LossName = "mse"
    """The loss of a temporal-difference error."""

    covers_vertices_once = True
    """Hyperedges are not mixed, so every vertex must be in exactly one of them."""

    def __post_init__(self) -> None:
        check(self)

    def losses(
        self, online: QNetwork, target: QNetwork, transition: Batch
    ) -> Float[Array, " errors"]:
        """The losses of one transition, one per hyperedge."""
        import jax

        observation, mask = transition.next_observation, transition.next_mask
        values = online.branches(transition.observation, transition.action)
        chooser = jax.lax.stop_gradient(online) if self.double else target
        best = chooser.greedy(observation, mask=mask)
        next_values = target.branches(observation, best)
        if self.towards != "independent":
            next_values = next_values.mean() if self.towards == "mean" else next_values.max()
        return td_losses(self.loss, transition, values, next_values)


def td_losses(
    loss: LossName,
    transition: Batch,
    values: Float[Array, " errors"],
    next_values: Float[Array, "..."],
) -> Float[Array, " errors"]:
    """The losses of temporal differences, of values that share one transition."""
    import jax
    import jax.numpy as jnp

    from hyperaction.losses import LOSSES, td_target

    targets = jax.vmap(partial(td_target, transition.reward, transition.discount))(
        jnp.broadcast_to(next_values, values.shape)
    )
    return jax.vmap(LOSSES[loss])(targets - values)


OBJECTIVES: dict[str, type[Any]] = {"td": TD, "branching": Branching}
