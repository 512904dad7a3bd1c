"""What an agent does besides its best: random actions, or noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.settings import DDPGSettings, ValueSettings
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import random_actions

EVALUATION_EPSILON = 0.001

Masks = NDArray[np.bool_] | None
Greedy = Callable[[], NDArray[Any]]
"""Gives the greedy actions of all environments, when they are asked for."""


class Explorer(Protocol):
    """Chooses actions for several environments at once."""

    def explore(self, step: int, masks: Masks, greedy: Greedy) -> NDArray[Any]:
        """Actions to learn from."""
        ...

    def evaluate(self, masks: Masks, greedy: Greedy) -> NDArray[Any]:
        """Actions to be judged by."""
        ...

    def restart(self, place: int) -> None:
        """An episode begins in one of the environments."""
        ...

    def metrics(self, step: int) -> dict[str, float]:
        """What to note about exploration at this step."""
        ...

    def state(self) -> dict[str, Any]:
        """All that it remembers, ready for JSON."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Remembers it again."""
        ...


def random_share(settings: ValueSettings, step: int) -> float:
    """The share of random actions: one until learning starts, then falling linearly."""
    left = settings.replay_start + settings.epsilon_steps - step
    share = min(max(left / settings.epsilon_steps, 0.0), 1.0)
    return settings.epsilon + (1.0 - settings.epsilon) * share


class EpsilonGreedy:
    """Random actions, in a share that falls as the agent learns, and greedy ones."""

    def __init__(
        self,
        settings: ValueSettings,
        hypergraph: Hypergraph,
        count: int,
        random: np.random.Generator,
    ) -> None:
        self.settings = settings
        self.count = count
        self.random = random
        self._sizes = np.array(hypergraph.sizes, np.int32)
        self._allowed = jax.jit(
            jax.vmap(lambda key, mask: random_actions(hypergraph, key, mask), in_axes=(0, 0))
        )

    def explore(self, step: int, masks: Masks, greedy: Greedy) -> NDArray[np.int32]:
        """Actions to learn from."""
        return self._choose(random_share(self.settings, step), masks, greedy)

    def evaluate(self, masks: Masks, greedy: Greedy) -> NDArray[np.int32]:
        """Actions to be judged by."""
        return self._choose(EVALUATION_EPSILON, masks, greedy)

    def restart(self, place: int) -> None:
        """Nothing is remembered over steps."""

    def metrics(self, step: int) -> dict[str, float]:
        """The share of random actions."""
        return {"epsilon": random_share(self.settings, step)}

    def state(self) -> dict[str, Any]:
        """The random generator."""
        return {"random": self.random.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        """Draws the same numbers again."""
        self.random.bit_generator.state = state["random"]

    def _choose(self, epsilon: float, masks: Masks, greedy: Greedy) -> NDArray[np.int32]:
        exploring = self.random.random(self.count) < epsilon
        if not exploring.any():
            return greedy()
        if exploring.all():
            return self._random(masks)
        return np.where(exploring[:, None], self._random(masks), greedy())

    def _random(self, masks: Masks) -> NDArray[np.int32]:
        if masks is None:
            shape = (self.count, len(self._sizes))
            return self.random.integers(self._sizes, size=shape, dtype=np.int32)
        key = jax.random.key(int(self.random.integers(2**31)))
        actions = np.asarray(self._allowed(jax.random.split(key, self.count), masks))
        if actions.min() < 0:
            raise ValueError("an action mask leaves no joint action in a state where one is needed")
        return actions


class Noise:
    """The policy's actions with noise added; random actions until learning starts."""

    def __init__(
        self, settings: DDPGSettings, length: int, count: int, random: np.random.Generator
    ) -> None:
        self.settings = settings
        self.random = random
        self.noise = np.zeros((count, length), np.float32)

    def explore(self, step: int, masks: Masks, greedy: Greedy) -> NDArray[np.float32]:
        """Actions to learn from."""
        if masks is not None:
            raise ValueError("ddpg cannot obey an action mask: its actions are real numbers")
        settings, shape = self.settings, self.noise.shape
        if step < settings.replay_start:
            return self.random.uniform(-1.0, 1.0, shape).astype(np.float32)
        # Drawn anew is the walk that is pulled back all the way.
        pull = settings.noise_pull if settings.noise_kind == "ou" else 1.0
        drawn = settings.noise * self.random.normal(size=shape)
        self.noise = ((1.0 - pull) * self.noise + drawn).astype(np.float32)
        return np.clip(greedy() + self.noise, -1.0, 1.0)

    def evaluate(self, masks: Masks, greedy: Greedy) -> NDArray[np.float32]:
        """Actions to be judged by: the policy's own."""
        return greedy()

    def restart(self, place: int) -> None:
        """The walk begins again."""
        self.noise[place] = 0.0

    def metrics(self, step: int) -> dict[str, float]:
        """The noise's scale never changes."""
        return {}

    def state(self) -> dict[str, Any]:
        """The random generator and where the walk is."""
        return {"random": self.random.bit_generator.state, "noise": self.noise.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Walks on."""
        self.random.bit_generator.state = state["random"]
        self.noise = np.array(state["noise"], np.float32)
