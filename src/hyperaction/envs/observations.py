"""How observations become arrays: the one place that knows, NumPy and Gymnasium only.

A `Box` stays as it is, of floats or of bytes, unless it is a grid of integers. All else becomes one
flat array: of floats, or of bytes where there are images (see `hyperaction.layout`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation
from numpy.typing import NDArray

from hyperaction.envs.encodings import Bytes, Leaf, Numbers, as_grid
from hyperaction.envs.observation_parts import (
    Group,
    Part,
    described,
    leaves_of,
    part_of,
    restored,
    subject,
    values_of,
)
from hyperaction.layout import Layout


class Observations:
    """How the observations of a space become arrays.

    Args:
        root: The parts of an observation; `Observations.of` makes them from a space.
    """

    def __init__(self, root: Part) -> None:
        self.root = root
        self._leaves = tuple(leaves_of(root))
        self.is_box = isinstance(root, Numbers | Bytes)
        """Whether observations are arrays as they are."""
        self.layout: Layout | None = None
        """What images and numbers there are, where observations have parts and images."""
        self.dtype: type[np.generic] = np.float32
        self.shape: tuple[int, ...] = (sum(leaf.length for _, leaf in self._leaves),)
        if isinstance(root, Numbers | Bytes):
            self.shape = root.shape
            self.dtype = np.uint8 if isinstance(root, Bytes) else np.float32
        elif any(isinstance(leaf, Bytes) for _, leaf in self._leaves):
            self.layout = Layout(tuple(_layout_of(leaf) for _, leaf in self._leaves))
            self.shape, self.dtype = (self.layout.num_bytes,), np.uint8

    @classmethod
    def of(cls, space: spaces.Space[Any], name: str = "it", *, plain: bool = False) -> Observations:
        """Those of a space.

        Args:
            space: The space.
            name: What has it, for errors.
            plain: As `gymnasium.spaces.flatten` has them, which agents of earlier versions take.
        """
        if isinstance(space, spaces.Box) and (plain or as_grid(space) is None):
            return cls((Bytes if space.dtype == np.uint8 else Numbers)(tuple(space.shape)))
        return cls(part_of(space, name, plain=plain))

    @classmethod
    def restored(cls, about: Mapping[str, Any]) -> Observations:
        """Those that were described; the values of the description have been checked."""
        return cls(restored(about))

    def described(self) -> dict[str, Any]:
        """The parts, ready for JSON."""
        return described(self.root)

    def has_part(self, key: str) -> bool:
        """Whether observations are a dictionary with this key."""
        return isinstance(self.root, Group) and key in self.root.names

    def __str__(self) -> str:
        return str(self.root)

    def frames_in(self, env: gymnasium.Env[Any, Any] | None = None) -> int:
        """How many frames of bytes an observation is a stack of; 0 if it has no images.

        Args:
            env: The environment, if it is known: what stacks frames is one of its wrappers.
        """
        if not self.is_box:
            return int(self.layout is not None)
        if self.dtype is not np.uint8 or len(self.shape) < 3:
            return 0
        inner: Any = env
        while isinstance(inner, gymnasium.Wrapper):
            same = inner.observation_space == env.observation_space  # type: ignore[union-attr]
            if isinstance(inner, FrameStackObservation) and same:
                return self.shape[0]
            inner = inner.env
        return 1

    def __call__(self, observation: Any) -> NDArray[Any]:
        """One observation as an array, ready for a network."""
        if self.is_box:
            return self._copied(observation)
        flat: NDArray[Any] = self._joined(observation, 1)[0]
        return flat

    def batch(self, observation: Any, count: int) -> NDArray[Any]:
        """So many observations, in the form that Gymnasium's vector environments give them."""
        return self._copied(observation) if self.is_box else self._joined(observation, count)

    def _copied(self, observation: Any) -> NDArray[Any]:
        if np.iscomplexobj(observation):
            raise TypeError("its numbers are complex")
        # A copy: environments may write the next observation into the same array.
        return np.array(observation, self.dtype)

    def _joined(self, observation: Any, count: int) -> NDArray[Any]:
        """The encoded parts beside each other; where there are images, all are bytes."""
        flat = [np.zeros((count, 0), self.dtype)]
        values = values_of(self.root, observation)
        for (path, leaf), value in zip(self._leaves, values, strict=True):
            try:
                part: NDArray[Any] = leaf(np.reshape(value, (count, *leaf.shape)))
                if self.layout is not None and not np.isfinite(part).all():
                    raise ValueError("has a number that is not finite")
            except ValueError as error:
                raise ValueError(f"{subject(path)} {error}") from None
            flat.append(np.ascontiguousarray(part).view(self.dtype))
        return np.concatenate(flat, axis=1)

    def read(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """One observation or several, in any form; whether it was one.

        As the environment gives it, a list or tuple of such, Gymnasium's batch of such, or arrays
        that are encoded already.
        """
        if self.is_box or self._is_encoded(observation):
            return as_batch(observation, self.shape)
        try:
            return self._read(observation)
        except (ValueError, TypeError) as error:
            first = error
        try:
            if not isinstance(observation, list | tuple | np.ndarray):
                raise first
            each = [self._read(one) for one in observation]
        except (ValueError, TypeError) as error:
            shown = error if isinstance(observation, list) else first
            raise ValueError(f"{shown}; expected is {self.root}, or a batch of such") from None
        if not all(single for _, single in each):
            raise ValueError(f"{first}; expected is {self.root}, or a batch of such")
        nothing = np.zeros((0, *self.shape), self.dtype)
        return np.concatenate([nothing, *(array for array, _ in each)]), False

    def _read(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """One observation, or Gymnasium's batch of several."""
        counts: set[int | None] = set()
        for (path, leaf), value in zip(
            self._leaves, values_of(self.root, observation), strict=True
        ):
            array = np.asarray(value)
            # Lists of parts are taken for one observation's: they might be several observations.
            is_several = array is value or not isinstance(self.root, Group)
            if array.shape == leaf.shape:
                counts.add(None)
            elif is_several and array.ndim and array.shape[1:] == leaf.shape:
                counts.add(len(array))
            else:
                raise ValueError(f"{subject(path)} has shape {array.shape}, not {leaf.shape}")
        if len(counts) > 1:
            raise ValueError("its parts are of several lengths")
        count = counts.pop() if counts else None
        if count is None:
            return self(observation)[None], True
        return self.batch(observation, count), False

    def _is_encoded(self, observation: Any) -> bool:
        if not isinstance(observation, np.ndarray):
            return False
        is_ours = (observation.dtype == np.uint8) if self.layout else observation.dtype.kind == "f"
        return is_ours and self.shape in (observation.shape, observation.shape[1:])


def _layout_of(leaf: Leaf) -> tuple[int, ...] | int:
    return leaf.shape if isinstance(leaf, Bytes) else leaf.length


def as_batch(observation: Any, shape: tuple[int, ...]) -> tuple[NDArray[Any], bool]:
    """An array of one observation, or of several, as several; whether it was one."""
    if isinstance(observation, Mapping):
        raise ValueError(f"it is a dictionary; expected are numbers of shape {shape}")
    try:
        array = np.asarray(observation)
        if array.dtype != np.uint8:  # Images stay bytes.
            array = array.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"it must be numbers: {error}") from None
    if array.shape == shape:
        return array[None], True
    if array.shape == (0,):
        return array.reshape(0, *shape), False
    if array.ndim and array.shape[1:] == shape:
        return array, False
    raise ValueError(f"it has shape {array.shape}; expected is {shape}, or a batch of such")
