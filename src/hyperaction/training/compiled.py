"""An agent's functions, compiled once."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from typing import Any, Protocol, cast

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.batch import Batch, UpdateInfo
from hyperaction.agents.config import AgentConfig
from hyperaction.agents.exploration import Explorer
from hyperaction.constraints import Mask


class Agent(Protocol):
    """The functions of an agent; its state is all that it learns and remembers, one pytree."""

    @property
    def config(self) -> AgentConfig:
        """What the trainer needs to know."""
        ...

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of an observation."""
        ...

    @property
    def action_length(self) -> int:
        """Numbers in an action."""
        ...

    @property
    def action_dtype(self) -> type[np.generic]:
        """Their type."""
        ...

    def check_masks(self) -> None:
        """Refuses action masks, if the agent cannot learn under them."""
        ...

    def explorer(self, num_envs: int, rng: np.random.Generator) -> Explorer:
        """The exploration for so many environments."""
        ...

    def init(self, key: PRNGKeyArray) -> Any:
        """The initial state."""
        ...

    def act(self, state: Any, observation: Any, mask: Any, inputs: Any = None) -> jax.Array:
        """The greedy action; with inputs, what the exploration computes from them."""
        ...

    def update(self, state: Any, batch: Batch) -> tuple[Any, UpdateInfo]:
        """One update on a batch."""
        ...

    def update_target(self, state: Any) -> Any:
        """The target network follows the online network."""
        ...


@jax.tree_util.register_pytree_node_class
class FlatState:
    """A pytree stored as its leaves: modules take longer to flatten than to compute with."""

    def __init__(self, tree: Any) -> None:
        self.leaves, self.structure = jax.tree.flatten(tree)

    @property
    def tree(self) -> Any:
        """The pytree itself."""
        return jax.tree.unflatten(self.structure, self.leaves)

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """As JAX asks."""
        return self.leaves, self.structure

    @classmethod
    def tree_unflatten(cls, structure: Any, leaves: Any) -> FlatState:
        """As JAX asks."""
        flat = object.__new__(cls)
        flat.leaves, flat.structure = list(leaves), structure
        return flat


REMEMBERED = 32
"""Agents whose compiled functions are remembered."""


def compiled_for(agent: Agent) -> Compiled:
    """The compiled functions of an agent; equal agents share them.

    One with a part of the user's own that is equal to itself alone has its own: such a part may
    have changed since another agent was made with it.
    """
    try:
        return _remembered(cast(Any, agent)) if _is_value(agent) else Compiled(agent)
    except TypeError:  # A part of the user's own may hold arrays, and cannot be hashed.
        return Compiled(agent)


def _is_value(part: Any) -> bool:
    """Whether all of it is compared by what it holds; classes do not change."""
    if part is None or isinstance(part, type):
        return True
    if is_dataclass(part):
        return all(_is_value(getattr(part, each.name)) for each in fields(part))
    if isinstance(part, tuple):
        return all(map(_is_value, part))
    compared: Any = type(part).__eq__
    return compared is not object.__eq__


@lru_cache(REMEMBERED)
def _remembered(agent: Agent) -> Compiled:
    return Compiled(agent)


class Compiled:
    """An agent's functions, compiled once; its state is donated to those that change it."""

    def __init__(self, agent: Agent) -> None:
        def act(state: FlatState, observations: Any, masks: Any, inputs: Any = None) -> jax.Array:
            each = jax.vmap(agent.act, in_axes=(None, 0, 0, 0))
            return each(state.tree, observations, masks, inputs)

        def update(state: FlatState, batch: Batch) -> tuple[FlatState, UpdateInfo]:
            new, info = agent.update(state.tree, batch)
            return FlatState(new), info

        def update_and_act(
            state: FlatState, batch: Batch, observations: Any, masks: Any, inputs: Any = None
        ) -> tuple[FlatState, UpdateInfo, jax.Array]:
            new, info = update(state, batch)
            return new, info, act(new, observations, masks, inputs)

        self.init = jax.jit(lambda key: agent.init(key))
        self.act = jax.jit(act)
        self.update = jax.jit(update, donate_argnums=0, compiler_options=_in_place())
        self.update_and_act = jax.jit(
            update_and_act, donate_argnums=0, compiler_options=_in_place()
        )
        self.update_target = jax.jit(
            lambda state: FlatState(agent.update_target(state.tree)), donate_argnums=0
        )


@cache
def _in_place() -> dict[str, Any]:
    """What keeps XLA from copying the parameters that an update changes in place.

    Not every version of XLA knows it.
    """
    options = {"xla_cpu_copy_insertion_use_region_analysis": True}
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except (RuntimeError, ValueError):
        return {}
    return options


class DivergedError(RuntimeError):
    """Learning that produced a number that is not finite."""


def check_actions(actions: NDArray[Any], agent: Agent, masks: Mask | None) -> NDArray[Any]:
    """The actions, if an environment can take all of them.

    Where values are not finite, or a mask allows nothing, the maximiser gives -1.
    """
    is_real = np.issubdtype(actions.dtype, np.floating)
    if (np.isfinite(actions) if is_real else actions >= 0).all():
        return actions
    if masks is not None:
        explorer = agent.explorer(len(actions), np.random.default_rng(0))
        explorer.actions.draw(explorer.rng, len(actions), masks)  # Raises if it is those.
    raise DivergedError("the agent has diverged: its values are not finite")
