"""Soft Q-learning: targets of the exact soft value over joint actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hyperaction.agents.objectives.base import AbstractObjective, Losses, LossName, td_losses
from hyperaction.agents.parts import added, check
from hyperaction.errors import SettingError

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from hyperaction.agents.batch import Batch
    from hyperaction.hypergraph import Hypergraph


@dataclass(frozen=True)
class Soft(AbstractObjective):
    """Soft Q-learning (Haarnoja et al., 2017), exact over all joint actions.

    The value of a state is the soft maximum of its joint actions. With Munchausen's bonus
    (Vieillard et al., 2020) the reward has the log-probability of the action added.
    """

    temperature: float = 0.01
    """The temperature of the soft maximum; where it adjusts itself, the first one."""
    target_entropy: float = 0.0
    """The entropy that the temperature adjusts itself to, as a share of the largest possible; 0
    leaves the temperature as it is."""
    temperature_rate: float = 0.0003
    """How fast the temperature adjusts itself."""
    munchausen: float = 0.0
    """How much of the log-probability is added to the reward; 0.9 in Munchausen DQN."""
    munchausen_floor: float = -1.0
    """The lowest that temperature times log-probability can be there."""
    loss: LossName = "mse"
    """The loss of a temporal-difference error."""
    target_critics: Literal["mean", "min"] = added("mean")
    """What a target takes of several critics' expected values of the next action: their mean, or
    their minimum."""

    needs_hyperedges: ClassVar[bool] = True
    needs_soft_values: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, at_least={"munchausen": 0})
        for name in ("temperature", "temperature_rate"):
            if getattr(self, name) <= 0:
                raise SettingError(f"`{name}` must be above 0, not {getattr(self, name)}")
        if not 0.0 <= self.target_entropy < 1.0:
            raise SettingError(
                f"`target_entropy` must be from 0 to below 1, not {self.target_entropy}"
            )
        if self.munchausen_floor > 0:
            raise SettingError(f"`munchausen_floor` must be at most 0, not {self.munchausen_floor}")

    @property
    def takes_masks(self) -> bool:
        """Munchausen's bonus asks what was allowed when an action was taken."""
        return not self.munchausen

    def init(self, hypergraph: Hypergraph) -> Any:
        """The log of the temperature and the entropy aimed for, where it adjusts itself."""
        import jax.numpy as jnp
        import numpy as np

        if not self.target_entropy:
            return ()
        most = float(np.log(np.array(hypergraph.sizes, float)).sum())
        return {
            "log_temperature": jnp.log(jnp.float32(self.temperature)),
            "entropy": jnp.float32(self.target_entropy * most),
        }

    def temperature_of(self, memory: Any) -> Any:
        """The temperature now."""
        import jax.numpy as jnp

        return jnp.exp(memory["log_temperature"]) if memory else jnp.float32(self.temperature)

    def losses(self, online: Any, target: Any, transition: Batch, memory: Any) -> Losses:
        """The losses of one transition, one per critic."""
        temperature = self.temperature_of(memory)
        observation, mask = transition.next_observation, transition.next_mask
        values = online.values(transition.observation, transition.action)
        if self.target_critics == "min":
            next_value = target.soft_values(observation, temperature, mask=mask).min()
        else:
            next_value = target.soft(observation, temperature, mask=mask)
        statistics = {"temperature": temperature}
        if self.target_entropy:
            statistics["entropy"] = target.entropy(observation, temperature, mask=mask)
        bonus = self._bonus(target, transition, temperature)
        transition = transition._replace(reward=transition.reward + bonus)
        return Losses(td_losses(self.loss, transition, values, next_value[None]), statistics)

    def _bonus(self, target: Any, transition: Batch, temperature: Any) -> Any:
        if not self.munchausen:
            return 0.0
        log_probability = target.log_probability(
            transition.observation, transition.action, temperature
        )
        lowest = self.munchausen_floor
        return self.munchausen * (temperature * log_probability).clip(lowest, 0.0)

    def update(self, memory: Any, statistics: dict[str, Float[Array, ""]]) -> Any:
        """The temperature rises while the entropy is too low."""
        if not memory:
            return memory
        wanting = memory["entropy"] - statistics["entropy"]
        log_temperature = memory["log_temperature"] + self.temperature_rate * wanting
        return memory | {"log_temperature": log_temperature}
