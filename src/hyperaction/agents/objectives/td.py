"""Q-learning: temporal differences of mixed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hyperaction.agents.objectives.base import AbstractObjective, Losses, LossName, td_losses
from hyperaction.agents.parts import added, check

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from hyperaction.agents.batch import Batch
    from hyperaction.hypergraph import Hypergraph

PAIR = 2
"""Critics whose minimum a target takes (Chen et al., 2021)."""


@dataclass(frozen=True)
class TD(AbstractObjective):
    """Temporal differences of mixed values: Q-learning."""

    double: bool = False
    """Double Q-learning: the online network chooses the next action, the target network evaluates
    it."""
    loss: LossName = "mse"
    """The loss of a temporal-difference error."""
    target_critics: Literal["mean", "min", "pair"] = added("mean")
    """What a target takes of several critics' values: their mean, their minimum, or the minimum of
    two that are drawn for every update."""

    def __post_init__(self) -> None:
        check(self)

    def init(self, hypergraph: Hypergraph) -> Any:
        """The number of updates, where critics are drawn for each."""
        import jax.numpy as jnp

        return jnp.zeros((), jnp.uint32) if self.target_critics == "pair" else ()

    def losses(self, online: Any, target: Any, transition: Batch, memory: Any) -> Losses:
        """The losses of one transition, one per critic."""
        import jax

        observation = transition.next_observation
        given = {"mask": transition.next_mask, "candidates": transition.candidates}
        values = online.values(transition.observation, transition.action)
        if self.double or self.target_critics != "mean":
            chooser = jax.lax.stop_gradient(online) if self.double else target
            action = chooser.greedy(observation, **given)
            next_value = self._of_critics(target.values(observation, action), memory)
        else:
            next_value = target.max(observation, **given)
        return Losses(td_losses(self.loss, transition, values, next_value[None]))

    def _of_critics(self, values: Float[Array, " critics"], memory: Any) -> Float[Array, ""]:
        import jax

        if self.target_critics == "pair" and len(values) > PAIR:
            order = jax.random.permutation(jax.random.key(memory), len(values))
            values = values[order[:PAIR]]
        return values.mean() if self.target_critics == "mean" else values.min()

    def update(self, memory: Any, statistics: Any) -> Any:
        """The number of updates."""
        return memory + 1 if self.target_critics == "pair" else memory
