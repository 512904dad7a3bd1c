"""Logarithmic Q-learning: logarithms of values, so that low discounts keep actions apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hyperaction.agents.objectives.base import AbstractObjective, Losses, LossName
from hyperaction.agents.parts import check
from hyperaction.errors import SettingError

if TYPE_CHECKING:
    from hyperaction.agents.batch import Batch
    from hyperaction.hypergraph import Hypergraph
    from hyperaction.networks.logarithmic import LogMapping

LEAST = 1e-30
"""The lowest value whose logarithm single precision holds well."""


@dataclass(frozen=True)
class Logarithmic(AbstractObjective):
    """Logarithmic Q-learning (van Seijen et al., 2019).

    What is won and what is lost are learned apart, each as a logarithm. Targets average what is
    sampled before they take its logarithm, so that values stay means.
    """

    c: float = 0.5
    """How far apart logarithms lie."""
    k: int = 100
    """The lowest value that is told from zero is that of a reward of 1 after so many steps."""
    beta_reg: float = 0.1
    """The share of a sample in the average whose logarithm is learned."""
    q_init: float = 0.0
    """The values that the network of what is won starts around."""
    double: bool = False
    """The online network chooses the next action, the target network evaluates it."""
    loss: LossName = "mse"
    """The loss of an error of a logarithm."""

    needs_hyperedges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, at_least={"k": 1, "q_init": 0})
        if self.c <= 0:
            raise SettingError(f"`c` must be above 0, not {self.c}")
        if not 0.0 < self.beta_reg <= 1.0:
            raise SettingError(f"`beta_reg` must be above 0 and at most 1, not {self.beta_reg}")

    def check_discount(self, discount: float) -> None:
        """Refuses a discount whose lowest value has no logarithm."""
        if discount**self.k < LEAST:
            raise SettingError(
                f"`discount` {discount} to the power of `k` {self.k} must be at least {LEAST:g}, "
                f"as single precision holds its logarithm: choose a lower `k`"
            )

    def mapping(self, discount: float) -> LogMapping:
        """From values to logarithms."""
        from hyperaction.networks.logarithmic import LogMapping

        horizon = 1.0 / (1.0 - discount) if discount < 1 else math.inf
        return LogMapping(self.c, discount**self.k, horizon, (self.q_init, 0.0))

    def init(self, hypergraph: Hypergraph) -> Any:
        """The largest reward or loss so far, which limits what is bootstrapped from.

        Exponentials of logarithms that overshoot would otherwise run away.
        """
        import jax.numpy as jnp

        return jnp.zeros(())

    def observe(self, memory: Any, batch: Batch) -> Any:
        """The largest reward or loss, with those of a batch."""
        import jax.numpy as jnp

        return jnp.maximum(memory, jnp.abs(batch.reward).max())

    def losses(self, online: Any, target: Any, transition: Batch, memory: Any) -> Losses:
        """The loss of one transition: those of what is won and lost, added."""
        import jax
        import jax.numpy as jnp

        from hyperaction.losses import LOSSES, td_target

        mapping = online.mapping
        observation, mask = transition.next_observation, transition.next_mask
        logs = online.logs(transition.observation, transition.action)
        chooser = jax.lax.stop_gradient(online) if self.double else target
        action = chooser.greedy(observation, mask=mask, candidates=transition.candidates)
        next_values = mapping.values(target.logs(observation, action)).clip(
            0.0, mapping.highest(memory)
        )
        rewards = jnp.maximum(jnp.stack([transition.reward, -transition.reward]), 0.0)
        each = jax.vmap(td_target, in_axes=(0, None, 0))
        targets = each(rewards, transition.discount, next_values).clip(mapping.lowest)
        wanted = mapping.toward(logs, targets, self.beta_reg)
        errors = jax.lax.stop_gradient(wanted) - logs
        return Losses(jax.vmap(LOSSES[self.loss])(errors).sum()[None])
