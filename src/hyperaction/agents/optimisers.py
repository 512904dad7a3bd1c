"""Optimisers by name, and any of optax's.

An optimiser has `init(parameters)` and `update(parameters, gradient, state)`, which gives new
parameters and a new state. An `optax.GradientTransformation` is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hyperaction.agents.parts import added, check
from hyperaction.agents.schedules import Linear
from hyperaction.errors import SettingError


@dataclass(frozen=True)
class Adam:
    """Adam whose epsilon is added to the root of the uncorrected mean square (epsilon-hat)."""

    learning_rate: float | Linear = 0.00001
    """The step size; a schedule counts updates."""
    epsilon: float = 0.0003125
    """The constant for numerical stability."""
    gradient_clip: float = 0.0
    """The largest norm of a gradient; 0 is no limit."""
    weight_decay: float = added(0.0)
    """The share of every weight that is taken away per step, times the step size (AdamW)."""

    def __post_init__(self) -> None:
        _check(self)
        check(self, at_least={"weight_decay": 0})

    def init(self, parameters: Any) -> Any:
        """The state before the first update."""
        from hyperaction.agents import moments

        return moments.init(moments.ADAM, parameters)

    def update(self, parameters: Any, gradient: Any, state: Any) -> tuple[Any, Any]:
        """New parameters, and the new state."""
        from hyperaction.agents import moments

        return moments.update(moments.ADAM, parameters, gradient, state, **vars(self))


@dataclass(frozen=True)
class RMSProp:
    """RMSProp with centred squares and a decay of 0.95 (Graves, 2013)."""

    learning_rate: float | Linear = 0.00025
    """The step size; a schedule counts updates."""
    epsilon: float = 0.00001
    """The constant for numerical stability, inside the root."""
    gradient_clip: float = 0.0
    """The largest norm of a gradient; 0 is no limit."""

    def __post_init__(self) -> None:
        _check(self)

    def init(self, parameters: Any) -> Any:
        """The state before the first update."""
        from hyperaction.agents import moments

        return moments.init(moments.RMSPROP, parameters)

    def update(self, parameters: Any, gradient: Any, state: Any) -> tuple[Any, Any]:
        """New parameters, and the new state."""
        from hyperaction.agents import moments

        return moments.update(moments.RMSPROP, parameters, gradient, state, **vars(self))


OPTIMISERS: dict[str, type[Any]] = {"adam": Adam, "rmsprop": RMSProp}


def _check(optimiser: Any) -> None:
    check(optimiser, at_least={"gradient_clip": 0})
    for name in ("learning_rate", "epsilon"):
        value = getattr(optimiser, name)
        if isinstance(value, int | float) and value <= 0:
            raise SettingError(f"`{name}` must be above 0, not {value}")


class OptaxOptimiser:
    """An `optax.GradientTransformation` as an optimiser."""

    def __init__(self, transformation: Any) -> None:
        self.transformation = transformation

    def init(self, parameters: Any) -> Any:
        """The state before the first update."""
        return self.transformation.init(parameters)

    def update(self, parameters: Any, gradient: Any, state: Any) -> tuple[Any, Any]:
        """New parameters, and the new state."""
        import optax

        updates, state = self.transformation.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state


def as_optimiser(given: Any) -> Any:
    """One of ours, or an optax transformation made one."""
    is_optax = isinstance(given, tuple) and hasattr(given, "init") and hasattr(given, "update")
    return OptaxOptimiser(given) if is_optax else given
