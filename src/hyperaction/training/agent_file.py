"""An agent in a file: what it is, what it learned, and how its actions map to the environment's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path
from numpy.typing import NDArray

from hyperaction.agents.config import AgentConfig
from hyperaction.agents.parts import to_dict
from hyperaction.agents.presets import AgentName, restored
from hyperaction.agents.structure import STRUCTURE_LIKE, Structure, check_size
from hyperaction.constraints import Constraints, NoAction
from hyperaction.envs import action_maps
from hyperaction.envs.observations import Observations
from hyperaction.envs.statistics import FIELDS, Statistics, merged
from hyperaction.errors import SettingError
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.runs.files import read_arrays, write_arrays
from hyperaction.runs.schema import ACTION_SCHEMA, AGENT_SCHEMA, OBSERVATION_SCHEMA, check
from hyperaction.runs.state import check_like
from hyperaction.version import __version__

if TYPE_CHECKING:
    from hyperaction.training.trainer import Trainer

PREFIX = "agent/"
"""Begins the names of an agent's arrays, beside those of a checkpoint's other parts."""

STATISTICS = "env/statistics/now/"
"""Begins the names of what the wrappers of its environment knew, as in a checkpoint."""


class AgentFile(NamedTuple):
    """An agent as it is stored."""

    name: AgentName
    config: AgentConfig
    actions: action_maps.ActionMap
    observation_shape: tuple[int, ...]
    step: int
    arrays: dict[str, NDArray[Any]]
    structure: Structure | None = None
    """The hyperedges, where they change while it learns."""
    constraints: Constraints | None = None
    """What is allowed in every state."""
    observations: Observations | None = None
    """How observations become arrays; files of earlier versions do not say."""
    statistics: Statistics | None = None
    """What the wrappers of its environment knew."""
    no_action: NoAction = "stop"
    """What to do where a mask leaves no action."""

    @classmethod
    def of(
        cls, name: AgentName, trainer: Trainer, no_action: NoAction, *, with_arrays: bool = True
    ) -> AgentFile:
        """The agent of a trainer as it is now; without its arrays, what there is to say of it."""
        env, agent = trainer.env, trainer.agent
        return cls(
            name,
            agent.config,
            env.actions,
            env.observation_shape,
            trainer.step,
            arrays_of(trainer.state.tree) if with_arrays else {},
            getattr(agent, "structure", None),
            env.constraints,
            env.observations,
            merged(env.statistics()) if with_arrays else None,
            no_action,
        )

    def about(self) -> dict[str, Any]:
        """What the agent is, ready for JSON: all but its arrays."""
        changes: dict[str, Any] = {}
        if self.structure is not None:
            changes["structure"] = self.structure.as_dict()
        if self.constraints is not None and self.constraints.always:
            changes["constraints"] = self.constraints.described()
        if self.observations is not None:
            changes["observations"] = self.observations.described()
        if self.no_action != "stop":
            changes["no_action"] = self.no_action
        return {
            "hyperaction": __version__,
            "agent": self.name,
            "settings": to_dict(self.config),
            "actions": action_maps.described(self.actions),
            "observation_shape": self.observation_shape,
            "step": self.step,
            **changes,
        }


def save(path: Path, agent: AgentFile) -> None:
    """Writes an agent, whole or not at all."""
    arrays = {f"{PREFIX}{name}": array for name, array in agent.arrays.items()}
    for name, known in (agent.statistics or {}).items():
        arrays |= {f"{STATISTICS}{name}/{field}": array for field, array in known.items()}
    write_arrays(path, arrays, agent.about())


def load(path: Path, own: Mapping[str, Any] | None = None) -> AgentFile:
    """Reads an agent from its file, or from the directory of its run.

    Args:
        path: The file or the directory.
        own: Parts of the user's own, which are not stored, by name.
    """
    file = path / AGENT_FILE if path.is_dir() else path
    arrays, about = read_arrays(file)
    own_arrays = {n.removeprefix(PREFIX): a for n, a in arrays.items() if n.startswith(PREFIX)}
    try:
        check(about, AGENT_SCHEMA)
        if not own_arrays:
            raise ValueError("its arrays are named as in another version")
        config, actions = restored(about["agent"], about["settings"], own), _actions(about)
        structure = _structure(about)
        _check_size(config, actions, own_arrays)
        if structure is not None:
            check_size(structure, actions.sizes, own_arrays)
        return AgentFile(
            about["agent"],
            config,
            actions,
            tuple(about["observation_shape"]),
            about["step"],
            own_arrays,
            structure,
            Constraints.restored(actions.sizes, about.get("constraints", ())),
            _observations(about),
            _statistics(arrays),
            about.get("no_action", "stop"),
        )
    except SettingError as error:
        raise SettingError(f"{file} cannot be read: {error.template}") from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{file} holds no agent of this version: {error}") from None


def _actions(about: dict[str, Any]) -> action_maps.ActionMap:
    """The actions that were described, if they can be taken."""
    unchecked = [about["actions"]]
    while unchecked:
        unchecked += check(unchecked.pop(), ACTION_SCHEMA).get("parts", ())
    actions = action_maps.restored(about["actions"])
    if not actions.sizes:
        raise ValueError("it has no action")
    for part in action_maps.leaves(actions):
        last = np.asarray(part(np.maximum(np.array(part.sizes) - 1, 0)))
        if last.dtype.kind not in "biuf":
            raise ValueError(f"its actions are {last.dtype}, not numbers")
    return actions


def _observations(about: dict[str, Any]) -> Observations | None:
    """The observations that were described, if they have the shape that the agent takes."""
    if "observations" not in about:
        return None
    unchecked = [about["observations"]]
    while unchecked:
        unchecked += check(unchecked.pop(), OBSERVATION_SCHEMA).get("parts", ())
    observations = Observations.restored(about["observations"])
    if list(observations.shape) != about["observation_shape"]:
        raise ValueError(f"it describes observations of shape {observations.shape}")
    return observations


def _statistics(arrays: dict[str, NDArray[Any]]) -> Statistics:
    """What the wrappers of the environment knew."""
    known: Statistics = {}
    for path, array in arrays.items():
        if path.startswith(STATISTICS):
            name, _, field = path.removeprefix(STATISTICS).rpartition("/")
            known.setdefault(name, {})[field] = array
    for name, each in known.items():
        is_whole = set(each) == set(FIELDS) and each["count"].shape == ()
        if not is_whole or any(array.dtype.kind != "f" for array in each.values()):
            raise ValueError(f"the statistics {name} are not whole")
    return known


def _structure(about: dict[str, Any]) -> Structure | None:
    """The hyperedges that were described, where they change."""
    if "structure" not in about:
        return None
    check_like(about["structure"], STRUCTURE_LIKE, "structure")
    return Structure.from_dict(about["structure"])


def _check_size(
    config: AgentConfig, actions: action_maps.ActionMap, arrays: dict[str, NDArray[Any]]
) -> None:
    """Refuses a description of more outputs than there are weights, before anything is built."""
    count = config.num_outputs(actions.sizes)
    if count > sum(array.size for array in arrays.values()):
        raise ValueError(f"it describes {count:,} outputs, more than it has weights")


def arrays_of(tree: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a pytree by their paths in it."""
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
