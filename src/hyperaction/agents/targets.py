"""Target networks: how they follow the online network, decided here alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hyperaction.agents.parts import check
from hyperaction.errors import SettingError


@dataclass(frozen=True)
class Copy:
    """The target becomes a copy of the online network every so many steps."""

    interval: int = 2_000
    """Environment steps between copies."""

    def __post_init__(self) -> None:
        check(self, at_least={"interval": 1})

    def update(self, online: Any, target: Any) -> Any:
        """The target when it is due."""
        import jax

        return jax.tree.map(jax.numpy.copy, online)

    def is_due(self, step: int) -> bool:
        """Whether the target is updated after this step."""
        return step % self.interval == 0


@dataclass(frozen=True)
class Polyak:
    """The target moves towards the online network a little with every update."""

    rate: float = 0.005
    """The share of the online network."""

    def __post_init__(self) -> None:
        check(self)
        if not 0.0 < self.rate <= 1.0:
            raise SettingError(f"`rate` must be above 0 and at most 1, not {self.rate}")

    def update(self, online: Any, target: Any) -> Any:
        """The target after an update."""
        import optax

        return optax.incremental_update(online, target, self.rate)


TARGETS: dict[str, type[Any]] = {"copy": Copy, "polyak": Polyak}


def with_update(target: Any) -> bool:
    """Whether the target follows with every update, inside the same compiled program."""
    return not hasattr(target, "is_due")
