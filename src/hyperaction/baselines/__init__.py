"""What agents are compared with: fixed policies, and agents of other libraries.

A baseline writes the same run directory as an agent, so that tables, curves and pages show it
beside agents; it cannot be resumed or played. Everything here can be read without loading JAX or
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hyperaction.envs.vector import Environments
    from hyperaction.envs.wrapper import Factored


class Learner(Protocol):
    """A baseline at work."""

    learns: bool
    """Whether it takes steps in the environment before it is evaluated."""

    def learn(self, steps: int) -> Iterator[int]:
        """Learns for at least so many steps; gives the steps done so far now and then."""
        ...

    def __call__(self, env: Environments) -> NDArray[np.int32]:
        """A joint action, `[1, vertices]`, for what the environment shows now."""
        ...


class Baseline(NamedTuple):
    """A baseline: where it is made, what it is, and the packages that it needs."""

    module: str
    help: str
    needs: tuple[str, ...] = ()

    def make(self, make_env: Callable[[], Factored], seed: int) -> Learner:
        """The baseline for environments that are made by a function."""
        module, name = self.module.split(":")
        made: Any = getattr(import_module(f"{__name__}.{module}"), name)(make_env, seed)
        return made


BASELINES = {
    "random": Baseline("fixed:Random", "random actions that are allowed"),
    "constant": Baseline("fixed:Constant", "the best of some actions, the same in every state"),
    "ppo": Baseline(
        "policy_gradients:PPO", "Stable-Baselines3's PPO, as it comes", ("stable_baselines3",)
    ),
    "maskable-ppo": Baseline(
        "policy_gradients:MaskablePPO", "sb3-contrib's MaskablePPO, as it comes", ("sb3_contrib",)
    ),
}
"""By the names that the command and grids have for them."""
