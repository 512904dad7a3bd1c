"""What an objective is."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from hyperaction.agents.batch import Batch
    from hyperaction.hypergraph import Hypergraph
    from hyperaction.networks import AbstractQFunction
    from hyperaction.networks.logarithmic import LogMapping

LossName = Literal["mse", "huber"]


class Losses(NamedTuple):
    """What one transition gives: losses, whose mean is minimised, and what to log or remember."""

    losses: Float[Array, " errors"]
    statistics: dict[str, Float[Array, ""]] = {}  # noqa: RUF012 (never changed)


class AbstractObjective:
    """What the online network learns from a transition."""

    quantiles: int = 1
    """Outputs per entry of the hyperedges' tables."""
    covers_vertices_once: ClassVar[bool] = False
    """Whether hyperedges are not mixed, so that every vertex must be in exactly one of them."""
    needs_hyperedges: ClassVar[bool] = False
    """Whether it asks more of a network than the values and best actions of joint actions."""
    needs_soft_values: ClassVar[bool] = False
    """Whether it asks for soft values."""

    @property
    def takes_masks(self) -> bool:
        """Whether it learns under action masks."""
        return True

    def mapping(self, discount: float) -> LogMapping | None:
        """How a network's values are mapped, if it learns logarithms of them."""
        return None

    def init(self, hypergraph: Hypergraph) -> Any:
        """What is remembered from update to update, at the start: a pytree."""
        return ()

    def observe(self, memory: Any, batch: Batch) -> Any:
        """What is remembered once a batch is known, before its losses."""
        return memory

    @abstractmethod
    def losses(
        self,
        online: AbstractQFunction,
        target: AbstractQFunction,
        transition: Batch,
        memory: Any,
    ) -> Losses:
        """The losses of one transition, from the networks and what is remembered."""

    def update(self, memory: Any, statistics: dict[str, Float[Array, ""]]) -> Any:
        """What is remembered after an update, from the means of its statistics."""
        return memory


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
