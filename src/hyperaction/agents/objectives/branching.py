"""Branching DQN: every hyperedge learns by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hyperaction.agents.objectives.base import AbstractObjective, Losses, LossName, td_losses
from hyperaction.agents.parts import check

if TYPE_CHECKING:
    from hyperaction.agents.batch import Batch


@dataclass(frozen=True)
class Branching(AbstractObjective):
    """Branching DQN (Tavakoli et al., 2018): every hyperedge learns by itself."""

    towards: Literal["mean", "max", "independent"] = "mean"
    """What hyperedges learn towards: the mean or the largest of their next values, or each its
    own."""
    double: bool = False
    """The online network chooses the next action, the target network evaluates it."""
    loss: LossName = "mse"
    """The loss of a temporal-difference error."""

    covers_vertices_once: ClassVar[bool] = True
    needs_hyperedges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    def losses(self, online: Any, target: Any, transition: Batch, memory: Any) -> Losses:
        """The losses of one transition, one per hyperedge."""
        import jax

        observation, mask = transition.next_observation, transition.next_mask
        values = online.branches(transition.observation, transition.action)
        chooser = jax.lax.stop_gradient(online) if self.double else target
        best = chooser.greedy(observation, mask=mask, candidates=transition.candidates)
        next_values = target.branches(observation, best)
        if self.towards != "independent":
            next_values = next_values.mean() if self.towards == "mean" else next_values.max()
        return Losses(td_losses(self.loss, transition, values, next_values))
