"""Noise on the sub-actions of a `Box` in bins, which are numbers in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.exploration.base import AbstractExploration, Actions, Explorer
from hyperaction.agents.parts import check
from hyperaction.agents.schedules import Linear, at, check_range
from hyperaction.errors import SettingError

PERIOD = 1024
"""Steps of pink noise that are made at once; a longer episode gets more of them."""


@dataclass(frozen=True)
class Ordinal(AbstractExploration):
    """Noise that lasts over steps, added to greedy actions; random until learning starts.

    Sub-actions are numbers, evenly spaced from -1 to 1. Noise is added to the greedy one's, and the
    nearest sub-action to the sum is taken; the greedy action, where a mask forbids that.
    """

    ordinal: ClassVar[bool] = True

    noise: Literal["ou", "pink"] = "pink"
    """Pink noise, or an Ornstein-Uhlenbeck process."""
    scale: float | Linear = 0.3
    """The noise's standard deviation, where actions go from -1 to 1; or a schedule of it over the
    steps since learning started."""
    pull: float = 0.15
    """How strongly the Ornstein-Uhlenbeck process is pulled back to zero at every step."""

    def __post_init__(self) -> None:
        check(self)
        check_range("scale", self.scale, at_least=0.0)
        if not 0.0 < self.pull <= 1.0:
            raise SettingError(f"`pull` must be above 0 and at most 1, not {self.pull}")

    def init(self, explorer: Explorer) -> dict[str, NDArray[Any]]:
        """The noise of every environment and vertex; of pink noise, a period that is used up."""
        shape = (explorer.num_envs, explorer.action_length)
        if self.noise == "ou":
            return {"noise": np.zeros(shape, np.float32)}
        return {
            "noise": np.zeros((*shape, PERIOD), np.float32),
            "used": np.full(explorer.num_envs, PERIOD),
        }

    def explore(self, explorer: Explorer) -> Actions:
        """Greedy actions with noise."""
        if explorer.step < explorer.learning_starts:
            return explorer.random_actions()
        noise = self.scale_at(explorer) * self._next_noise(explorer)
        greedy = explorer.greedy()
        actions = nearest(positions(greedy, explorer.actions.sizes) + noise, explorer.actions.sizes)
        return np.where(_usable(explorer, greedy, actions)[:, None], actions, greedy)

    def begin_episode(self, explorer: Explorer, env_index: int) -> None:
        """The noise begins anew."""
        if self.noise == "ou":
            explorer.memory["noise"][env_index] = 0.0
        else:
            explorer.memory["used"][env_index] = PERIOD

    def scale_at(self, explorer: Explorer) -> float:
        """The noise's standard deviation at the explorer's step."""
        return float(at(self.scale, explorer.steps_learned))

    def metrics(self, explorer: Explorer) -> dict[str, float]:
        """The noise's standard deviation."""
        return {"noise_scale": self.scale_at(explorer)}

    def _next_noise(self, explorer: Explorer) -> NDArray[np.float32]:
        """The next noise of every environment and vertex, of standard deviation 1."""
        memory, rng = explorer.memory, explorer.rng
        noise = memory["noise"]
        if self.noise == "ou":
            share = 1.0 - self.pull
            drawn = math.sqrt(1.0 - share**2) * rng.normal(size=noise.shape)
            memory["noise"] = (share * noise + drawn).astype(np.float32)
            return memory["noise"]
        for env_index in np.flatnonzero(memory["used"] >= PERIOD):
            noise[env_index] = pink_noise(rng, explorer.action_length, PERIOD)
            memory["used"][env_index] = 0
        step = memory["used"][:, None, None]
        memory["used"] = memory["used"] + 1
        return np.take_along_axis(noise, step, axis=2)[..., 0]


def _usable(explorer: Explorer, greedy: Actions, actions: Actions) -> NDArray[np.bool_]:
    """Where the actions are allowed; greedy ones that are none at all stay for the trainer."""
    return explorer.allows(actions) & (greedy >= 0).all(axis=1)


def positions(actions: Actions, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Sub-actions as numbers, each vertex's evenly spaced from -1 to 1."""
    return 2.0 * actions / np.maximum(np.array(sizes) - 1, 1) - 1.0


def nearest(points: NDArray[np.floating], sizes: tuple[int, ...]) -> NDArray[np.int32]:
    """The sub-actions that are nearest to numbers, one for each vertex."""
    share = (np.clip(points, -1.0, 1.0) + 1.0) / 2.0
    return np.rint(share * (np.array(sizes) - 1)).astype(np.int32)


def pink_noise(rng: np.random.Generator, count: int, length: int) -> NDArray[np.float64]:
    """So many series of normal noise of variance 1, whose power falls as 1 / frequency.

    After Timmer and König (1995): normal numbers at all frequencies, scaled and transformed.

    Args:
        rng: Where random numbers come from.
        count: How many series.
        length: Their length, an even number.
    """
    frequencies = np.arange(length // 2 + 1)
    amplitudes = 1.0 / np.sqrt(np.maximum(frequencies, 1))
    real, imaginary = rng.normal(size=(2, count, len(frequencies)))
    for edge in (0, -1):  # The mean and the highest frequency are real.
        real[:, edge] *= math.sqrt(2.0)
        imaginary[:, edge] = 0.0
    powers = 4.0 * amplitudes**2
    powers[[0, -1]] /= 2.0
    series = np.fft.irfft(amplitudes * (real + 1j * imaginary), n=length)
    return series * length / math.sqrt(powers.sum())
