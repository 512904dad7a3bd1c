"""Distributional Q-learning: quantiles of returns, by quantile regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hyperaction.agents.objectives.base import AbstractObjective, Losses
from hyperaction.agents.parts import check
from hyperaction.errors import SettingError

if TYPE_CHECKING:
    from hyperaction.agents.batch import Batch


@dataclass(frozen=True)
class Quantile(AbstractObjective):
    """The distribution of returns, by quantile regression (Dabney et al., 2018).

    An action's quantiles are the mix of its hyperedges' quantiles (Sun et al., 2021). Targets are
    the quantiles of all critics together, without the largest (Kuznetsov et al., 2020).
    """

    quantiles: int = 25
    """Quantiles of every entry of the hyperedges' tables."""
    drop_quantiles: int = 0
    """Quantiles per critic that targets leave out, the largest of all critics' together."""
    double: bool = False
    """The online network chooses the next action, the target network evaluates it."""
    kappa: float = 1.0
    """The error up to which the quantile Huber loss is quadratic."""

    needs_hyperedges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, at_least={"quantiles": 2, "drop_quantiles": 0})
        if self.drop_quantiles >= self.quantiles:
            raise SettingError(
                f"`drop_quantiles` must be below `quantiles`, {self.quantiles}, not "
                f"{self.drop_quantiles}"
            )
        if self.kappa <= 0:
            raise SettingError(f"`kappa` must be above 0, not {self.kappa}")

    def losses(self, online: Any, target: Any, transition: Batch, memory: Any) -> Losses:
        """The losses of one transition, one per critic and quantile."""
        import jax
        import jax.numpy as jnp

        from hyperaction.losses import quantile_huber, td_target, without_largest

        observation, mask = transition.next_observation, transition.next_mask
        quantiles = online.quantiles(transition.observation, transition.action)
        chooser = jax.lax.stop_gradient(online) if self.double else target
        action = chooser.greedy(observation, mask=mask, candidates=transition.candidates)
        pooled = jnp.ravel(target.quantiles(observation, action))
        dropped = self.drop_quantiles * len(quantiles)
        weights = without_largest(pooled, dropped) if dropped else None
        targets = td_target(transition.reward, transition.discount, pooled)
        of_critics = jax.vmap(quantile_huber, in_axes=(0, None, None, None))
        return Losses(jnp.ravel(of_critics(quantiles, targets, self.kappa, weights)))
