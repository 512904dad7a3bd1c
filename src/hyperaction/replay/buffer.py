"""The replay buffer: steps in, batches out.

It owns everything between: n-step returns, reward clipping, how observations are stored, and
priorities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperaction.replay.frames import FrameRing
from hyperaction.replay.n_step import NStep
from hyperaction.replay.priorities import Priorities
from hyperaction.replay.ring import Ring, Stream

MIN_LOSS = 1e-10
"""Added to losses before they become priorities, as in Dopamine."""


class Observed(Protocol):
    """An environment's observations."""

    observation_shape: tuple[int, ...]
    observation_dtype: type[np.generic]
    frames: int


class ReplayConfig(Protocol):
    """The settings of replay, which are an agent's."""

    @property
    def buffer_size(self) -> int: ...
    @property
    def n_step(self) -> int: ...
    @property
    def discount(self) -> float: ...
    @property
    def reward_clip(self) -> float: ...
    @property
    def prioritised(self) -> bool: ...
    @property
    def priority_exponent(self) -> float: ...
    @property
    def weight_exponent(self) -> float: ...


class Batch(NamedTuple):
    """Sampled transitions, and the weight of each where they have priorities."""

    observation: NDArray[Any]
    action: NDArray[Any]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    next_observation: NDArray[Any]
    next_mask: NDArray[np.bool_] | None
    weight: NDArray[np.float32] | None


class Step(NamedTuple):
    """A step of one environment."""

    observation: NDArray[Any]
    action: NDArray[Any]
    reward: float
    next_observation: NDArray[Any]
    terminated: bool
    truncated: bool
    next_mask: NDArray[np.bool_] | None = None


class ReplayBuffer:
    """The transitions of several environments.

    Args:
        config: The settings of replay.
        observed: What observations look like; each frame is stored once where they are images.
        action_length: Numbers in an action.
        action_dtype: Their type.
        mask_length: Entries of an action mask, if there are masks.
        num_envs: Environments that steps come from.
        rng: Where samples come from.
    """

    def __init__(
        self,
        config: ReplayConfig,
        observed: Observed,
        *,
        action_length: int,
        action_dtype: type[np.generic],
        mask_length: int | None,
        num_envs: int,
        rng: np.random.Generator,
    ) -> None:
        self.rng, self._clip = rng, config.reward_clip
        size, shape = config.buffer_size, observed.observation_shape
        self.ring: Ring | FrameRing
        if observed.frames:
            self.ring = FrameRing(
                size, shape, observed.frames, action_length, action_dtype, mask_length
            )
        else:
            self.ring = Ring(
                size, shape, action_length, action_dtype, mask_length, observed.observation_dtype
            )
        self.priorities: Priorities | None = None
        if config.prioritised:
            self.priorities = Priorities(size, config.weight_exponent)
        self._exponent = config.priority_exponent
        self._n_steps = [NStep(config.n_step, config.discount) for _ in range(num_envs)]
        self._last_encoded: list[NDArray[Any] | None] = [None] * num_envs
        """Each environment's current observation as it is stored; none where an episode begins."""
        self._sampled: NDArray[np.intp] = np.empty(0, np.intp)

    def __len__(self) -> int:
        return len(self.ring)

    @property
    def is_full(self) -> bool:
        """Whether new transitions replace the oldest."""
        return self.ring.is_full

    @property
    def streams(self) -> dict[str, Stream]:
        """Everything that only grows, which checkpoints store piece by piece."""
        return self.ring.streams

    def add(self, env_index: int, step: Step) -> None:
        """Stores a step of an environment, as the transitions that it completes."""
        encoded = self._last_encoded[env_index]
        if encoded is None:
            encoded = self.ring.encode(step.observation, None)
        next_encoded = self.ring.encode(step.next_observation, encoded)
        ended = step.terminated or step.truncated
        self._last_encoded[env_index] = None if ended else next_encoded
        clip = self._clip
        transitions = self._n_steps[env_index].add(
            encoded,
            step.action,
            min(max(step.reward, -clip), clip) if clip else step.reward,
            next_encoded,
            terminated=step.terminated,
            truncated=step.truncated,
            next_mask=step.next_mask,
        )
        stored = [self.ring.add(transition) for transition in transitions]
        evicted = self.ring.pop_evicted()
        if self.priorities is not None:
            self.priorities.renew(evicted, stored)

    def drop_unfinished(self) -> None:
        """Drops steps that are not part of a whole transition yet, in all environments."""
        for n_step in self._n_steps:
            n_step.steps.clear()
        self._last_encoded = [None] * len(self._last_encoded)

    def drop_before(self, numbers: Mapping[str, int]) -> None:
        """Drops what came before a number of each of these streams: it was lost."""
        self.ring.drop_before(numbers)
        self.ring.pop_evicted()
        self.drop_unfinished()
        if self.priorities is not None:
            self.priorities.keep(self.ring.slots)

    def sample(self, batch_size: int) -> Batch:
        """A batch of transitions: each as likely as any other, or by priority."""
        weight = None
        if self.priorities is None:
            self._sampled = self.ring.draw(batch_size, self.rng)
        else:
            self._sampled = self.priorities.sample(batch_size, self.rng)
            weight = self.priorities.weights(self._sampled)
        return Batch(*self.ring.take(self._sampled), weight)

    def observations(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """So many observations, drawn evenly; replay's own random numbers stay as they are."""
        return np.asarray(self.ring.take(self.ring.draw(count, rng)).observation)

    def update_priorities(self, losses: Any) -> None:
        """Takes the losses of the last batch; without priorities they do not matter."""
        if self.priorities is not None:
            roots = np.sqrt(np.asarray(losses) + MIN_LOSS)
            self.priorities.set(self._sampled, roots**self._exponent)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the streams' entries."""
        state: dict[str, Any] = {
            "rng": self.rng.bit_generator.state,
            "ring": self.ring.state_dict(),
            "n_step": [n_step.state_dict() for n_step in self._n_steps],
            "last_encoded": list(self._last_encoded),
        }
        if self.priorities is not None:
            state["priorities"] = self.priorities.state_dict()
        return state

    def state_like(self) -> dict[str, Any]:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`."""
        entries = self.ring.arrays
        unfinished = {
            "observations": entries.observation[:0],
            "actions": entries.action[:0],
            "rewards": np.empty(0),
        }
        return self.state_dict() | {
            "rng": dict,  # NumPy checks it.
            "ring": self.ring.state_like(),
            "n_step": [({}, unfinished)] * len(self._n_steps),
            "last_encoded": [(None, entries.observation[0])] * len(self._last_encoded),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave; the streams are refilled before."""
        self.rng.bit_generator.state = state["rng"]
        self.ring.load_state_dict(state["ring"])
        for n_step, each in zip(self._n_steps, state["n_step"], strict=True):
            n_step.load_state_dict(each)
        self._last_encoded = list(state["last_encoded"])
        if self.priorities is not None:
            self.priorities.load_state_dict(state["priorities"])


def replay_bytes(size: int, observed: Observed, action_length: int) -> int:
    """The memory that a full replay buffer takes, masks aside."""
    observation = (
        math.prod(observed.observation_shape) * np.dtype(observed.observation_dtype).itemsize
    )
    others = action_length * np.dtype(np.int32).itemsize + 2 * np.dtype(np.float32).itemsize
    if not observed.frames:
        return size * (2 * observation + others)
    numbers = 2 * observed.frames * np.dtype(np.int64).itemsize
    return (size + 1) * (observation // observed.frames) + size * (numbers + others)
