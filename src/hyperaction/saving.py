"""An agent in a file: what it is, what it learned, and how its actions are the environment's."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path
from numpy.typing import NDArray

from hyperaction.agents.presets import AgentName, settings_of
from hyperaction.agents.settings import LoopSettings
from hyperaction.environments.actions import ActionMap, described, restored
from hyperaction.runs import read_arrays, write_arrays
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.version import __version__


class Saved(NamedTuple):
    """An agent as it was saved."""

    name: AgentName
    settings: LoopSettings
    actions: ActionMap
    observation_shape: tuple[int, ...]
    step: int
    arrays: dict[str, NDArray[Any]]


def save(path: Path, saved: Saved) -> None:
    """Writes an agent, whole or not at all."""
    write_arrays(path, saved.arrays, about(saved))


def about(saved: Saved) -> dict[str, Any]:
    """What an agent is, ready for JSON: all but its arrays."""
    return {
        "hyperaction": __version__,
        "agent": saved.name,
        "settings": asdict(saved.settings),
        "actions": described(saved.actions),
        "observation_shape": saved.observation_shape,
        "step": saved.step,
    }


def load(path: Path) -> Saved:
    """Reads an agent from its file, or from the directory of its run."""
    file = path / AGENT_FILE if path.is_dir() else path
    arrays, told = read_arrays(file)
    try:
        return Saved(
            told["agent"],
            settings_of(told["agent"], told["settings"]),
            restored(told["actions"]),
            tuple(told["observation_shape"]),
            told["step"],
            arrays,
        )
    except (KeyError, TypeError) as error:
        version = told.get("hyperaction", "another program")
        raise ValueError(f"{file} was written by {version} and cannot be read: {error}") from None


def arrays_of(tree: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a pytree by their places in it."""
    leaves, _ = tree_flatten_with_path(tree)
    return {keystr(path): np.asarray(leaf) for path, leaf in leaves}


def filled(template: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """A pytree like the template with these arrays in their places."""
    leaves, structure = tree_flatten_with_path(template)
    found = []
    for path, leaf in leaves:
        array = arrays.get(keystr(path))
        if array is None or array.shape != leaf.shape:
            there = "missing" if array is None else f"of shape {array.shape}, not {leaf.shape}"
            raise ValueError(f"the saved agent is another: its array {keystr(path)} is {there}")
        found.append(jax.numpy.asarray(array, leaf.dtype))
    return jax.tree.unflatten(structure, found)
