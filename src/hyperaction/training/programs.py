"""An agent's functions, compiled once."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.exploration import Explorer
from hyperaction.agents.minibatch import Learned, Minibatch
from hyperaction.agents.settings import LoopSettings


class Agent(Protocol):
    """The functions of an agent; its state is all that it learns and remembers, one pytree."""

    @property
    def settings(self) -> LoopSettings:
        """What the loop needs to know."""
        ...

    @property
    def action_length(self) -> int:
        """Numbers in an action."""
        ...

    @property
    def action_dtype(self) -> type[np.generic]:
        """Their type."""
        ...

    def explorer(self, count: int, random: np.random.Generator) -> Explorer:
        """What explores in so many environments."""
        ...

    def start(self, key: PRNGKeyArray) -> Any:
        """The state of an agent that knows nothing."""
        ...

    def act(self, state: Any, observation: Any, mask: Any) -> jax.Array:
        """The greedy action."""
        ...

    def learn(self, state: Any, batch: Minibatch) -> tuple[Any, Learned]:
        """One update on a minibatch."""
        ...

    def copy_target(self, state: Any) -> Any:
        """The target network becomes the online network."""
        ...


@jax.tree_util.register_pytree_node_class
class Flat:
    """A pytree kept as its leaves: modules take longer to take apart than to compute with."""

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
    def tree_unflatten(cls, structure: Any, leaves: Any) -> Flat:
        """As JAX asks."""
        flat = object.__new__(cls)
        flat.leaves, flat.structure = list(leaves), structure
        return flat


class Programs:
    """An agent's functions, compiled once; its state is donated to those that change it."""

    def __init__(self, agent: Agent) -> None:
        def act(state: Flat, observations: Any, masks: Any) -> jax.Array:
            return jax.vmap(agent.act, in_axes=(None, 0, 0))(state.tree, observations, masks)

        def learn(state: Flat, batch: Minibatch) -> tuple[Flat, Learned]:
            new, learned = agent.learn(state.tree, batch)
            return Flat(new), learned

        def learn_and_act(
            state: Flat, batch: Minibatch, observations: Any, masks: Any
        ) -> tuple[Flat, Learned, jax.Array]:
            new, learned = learn(state, batch)
            return new, learned, act(new, observations, masks)

        self.start = jax.jit(lambda key: agent.start(key))
        self.act = jax.jit(act)
        self.learn = jax.jit(learn, donate_argnums=0, compiler_options=_in_place())
        self.learn_and_act = jax.jit(learn_and_act, donate_argnums=0, compiler_options=_in_place())
        self.copy_target = jax.jit(
            lambda state: Flat(agent.copy_target(state.tree)), donate_argnums=0
        )


@cache
def _in_place() -> dict[str, Any]:
    """What keeps XLA from copying the parameters that an update changes where they are.

    Not every version of XLA knows it.
    """
    options = {"xla_cpu_copy_insertion_use_region_analysis": True}
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except (RuntimeError, ValueError):
        return {}
    return options


def allowed(actions: NDArray[Any]) -> NDArray[Any]:
    """Actions that a mask left; where it leaves none, the maximiser says -1."""
    if actions.dtype == np.int32 and actions.min() < 0:
        raise ValueError("an action mask leaves no joint action in a state where one is needed")
    return actions
