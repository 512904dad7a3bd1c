"""Growing action spaces: coarse grids of sub-actions first, finer ones as the agent learns.

The grids are nested (3, 5, 9 sub-actions per dimension), and the finest is the action space. A
level is a mask on it: what is not on the level's grid is neither explored nor maximised over.
Growing Q-Networks (Seyde et al., 2024) do so for branching networks; here any hyperedges can.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.parts import check
from hyperaction.constraints import Constraints, Mask
from hyperaction.errors import SettingError

if TYPE_CHECKING:
    from hyperaction.agents.config import QLearningConfig

Config = TypeVar("Config")


def check_plain_heads(name: str, config: QLearningConfig) -> None:
    """Refuses heads that values cannot be moved within."""
    quantiles = getattr(config.objective, "quantiles", 1)
    for setting, wanted, given in (
        ("critics", "1", config.heads.critics <= 1),
        ("quantiles", "left out", quantiles == 1),
        ("total_width", "at least 1", config.heads.total_width >= 1),
        ("action_in", "left out", not config.heads.action_in),
        ("objective", "another", config.objective.mapping(config.discount) is None),
    ):
        if not given:
            raise SettingError(
                f"`{name}` moves values within the heads of one network: `{setting}` must be "
                f"{wanted}"
            )


class AbstractGrowth:
    """Decides when an agent's grid of sub-actions becomes finer."""

    changes: ClassVar[bool] = True
    """Whether it ever does."""
    levels: tuple[int, ...] = ()
    """Sub-actions per dimension of each level; from `bins`."""

    @property
    def window(self) -> int:
        """How many of the last returns it looks at."""
        return 0

    def check_config(self, config: QLearningConfig) -> None:
        """Refuses agents whose values would jump when the grid becomes finer."""
        if not config.objective.takes_masks:
            raise SettingError("`grow` masks sub-actions, which `munchausen` cannot have")
        if not config.heads.hierarchical:
            check_plain_heads("grow", config)
        if config.heads.dueling:
            raise SettingError(
                "`grow` keeps values as they are, which those of `heads.dueling` cannot be: they "
                "are centred over all sub-actions"
            )
        if getattr(config.structure, "prune_at", None) is not None:
            raise SettingError("`grow` and `structure` auto: give one of them")

    def check_sizes(self, sizes: Sequence[int]) -> None:
        """Refuses action spaces that have no such grids."""
        if not self.levels or set(sizes) != {self.levels[-1]}:
            raise SettingError("`grow` is for Box action spaces, with `bins` such as 3 5 9")

    def is_due(self, step: int, level: int, returns: Sequence[float]) -> bool:
        """Whether the grid becomes finer after this step.

        Args:
            step: The step.
            level: The level of now.
            returns: Of the last episodes of training that ended at this level, up to `window`.
        """
        return level + 1 < len(self.levels) and self._is_due(step, level, returns)

    @abstractmethod
    def _is_due(self, step: int, level: int, returns: Sequence[float]) -> bool: ...


@dataclass(frozen=True)
class NoGrowth(AbstractGrowth):
    """The same sub-actions from beginning to end."""

    changes: ClassVar[bool] = False

    def check_config(self, config: QLearningConfig) -> None:
        """Any agent may have it."""

    def check_sizes(self, sizes: Sequence[int]) -> None:
        """Any action space may have it."""

    def _is_due(self, step: int, level: int, returns: Sequence[float]) -> bool:
        return False


@dataclass(frozen=True)
class LinearGrowth(AbstractGrowth):
    """Every level has the same share of so many steps; the last one stays."""

    steps: int = 300_000
    """The steps that the levels share; of three, the second begins after a third of them."""
    levels: tuple[int, ...] = field(default=(), metadata={"hidden": True})

    def __post_init__(self) -> None:
        check(self, at_least={"steps": 1})

    def _is_due(self, step: int, level: int, returns: Sequence[float]) -> bool:
        return step >= self.steps * (level + 1) // len(self.levels)


@dataclass(frozen=True)
class AdaptiveGrowth(AbstractGrowth):
    """A finer grid when the return stalls.

    It stalls where the mean return of the last episodes of training does not exceed that of as many
    before them by more than a share of the earlier ones' standard deviation; only episodes that
    ended at the level of now count.
    """

    episodes: int = 20
    """Episodes of each of the two means."""
    margin: float = 0.1
    """The share of the standard deviation that the mean must gain for the level to stay."""
    levels: tuple[int, ...] = field(default=(), metadata={"hidden": True})

    def __post_init__(self) -> None:
        check(self, at_least={"episodes": 1, "margin": 0})

    @property
    def window(self) -> int:
        """Both means' returns."""
        return 2 * self.episodes

    def _is_due(self, step: int, level: int, returns: Sequence[float]) -> bool:
        if len(returns) < self.window:
            return False
        before, last = np.array(returns[-self.window :]).reshape(2, -1)
        return bool(last.mean() <= before.mean() + self.margin * before.std())


GROWTHS: dict[str, type[Any]] = {
    "none": NoGrowth,
    "linear": LinearGrowth,
    "adaptive": AdaptiveGrowth,
}


def with_bins(config: Config, bins: tuple[int | str, ...]) -> tuple[Config, tuple[int | str, ...]]:
    """The configuration that knows the levels of `bins`, and the bins of the action space."""
    grow: Any = getattr(config, "grow", None)
    if grow is None or not grow.changes:
        return config, bins
    levels = tuple(level for level in bins if isinstance(level, int))
    given = " ".join(map(str, bins))
    nested = len(levels) == len(bins) and all(
        2 <= coarse < fine and (fine - 1) % (coarse - 1) == 0 for coarse, fine in pairwise(levels)
    )
    if len(levels) < 2 or not nested:
        raise SettingError(
            f"`bins` {given}: with `grow`, give two levels or more, each less one a divisor of the "
            f"next less one, such as 3 5 9"
        )
    return replace(config, grow=replace(grow, levels=levels)), levels[-1:]  # type: ignore[type-var]


def on_grid(levels: Sequence[int], level: int) -> NDArray[np.bool_]:
    """Which sub-actions of the finest grid are on that of a level."""
    finest = levels[-1]
    return np.arange(finest) % ((finest - 1) // (levels[level] - 1)) == 0


def interpolation(grid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The matrix that keeps values on a grid, and interpolates those between linearly."""
    there = np.flatnonzero(grid)
    rows = [
        np.interp(np.arange(len(grid)), there, np.eye(len(there))[k]) for k in range(len(there))
    ]
    matrix = np.zeros((len(grid), len(grid)))
    matrix[:, there] = np.stack(rows, axis=1)
    return matrix


def on_level(
    mask: Mask | None, sizes: Sequence[int], grid: NDArray[np.bool_], batch: tuple[int, ...] = ()
) -> Mask:
    """A mask limited to a grid of each vertex's sub-actions, on the host or in compiled code.

    A vertex of which nothing on the grid is allowed keeps all that is.
    """
    constraints = Constraints(tuple(sizes)) if mask is None else mask.constraints
    own = len(sizes) * len(grid)
    if mask is None or mask.rows is None:
        row = np.concatenate([np.tile(grid, len(sizes)), np.ones(constraints.num_entries - own)])
        return Mask(np.broadcast_to(row.astype(bool), (*batch, len(row))), constraints)
    rows = mask.rows
    of_vertices = rows[..., :own].reshape(*rows.shape[:-1], -1, len(grid))
    inside = of_vertices & grid
    limited = inside | (of_vertices & ~inside.any(-1, keepdims=True))
    parts = [limited.reshape(*rows.shape[:-1], own), rows[..., own:]]
    return Mask(rows.__array_namespace__().concatenate(parts, axis=-1), constraints)
