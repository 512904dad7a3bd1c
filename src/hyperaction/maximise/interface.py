"""What a way of maximising is, and the maximiser around it: shapes, values and batches."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from hyperaction.hypergraph import Hypergraph
from hyperaction.mixers import AbstractMixer


class AbstractWay(eqx.Module):
    """One way to find the best joint action, planned for one hypergraph.

    Hashable and free of arrays: what it decides, it decides before compiling.
    """

    name: eqx.AbstractClassVar[str]

    @abstractmethod
    def argmax(
        self,
        hypergraph: Hypergraph,
        mixer: AbstractMixer,
        outputs: Float[Array, "batch outputs"],
        state: Float[Array, "batch features"] | None,
    ) -> Int[Array, "batch vertices"]:
        """The best joint action of each state."""


class Maximiser(eqx.Module):
    """Finds the joint action of the largest mixed value, for any batch of states.

    Made by `maximiser`. Holds the mixer, whose parameters may be traced; everything else is fixed.
    """

    mixer: AbstractMixer
    hypergraph: Hypergraph = eqx.field(static=True)
    way: AbstractWay = eqx.field(static=True)

    @property
    def name(self) -> str:
        """The way that was chosen."""
        return self.way.name

    def max(
        self,
        outputs: Float[ArrayLike, "*batch outputs"],
        *,
        state: Float[ArrayLike, "*batch features"] | None = None,
    ) -> Float[Array, "*batch"]:
        """The value of each state's best action."""
        return self.value_and_action(outputs, state=state)[0]

    def argmax(
        self,
        outputs: Float[ArrayLike, "*batch outputs"],
        *,
        state: Float[ArrayLike, "*batch features"] | None = None,
    ) -> Int[Array, "*batch vertices"]:
        """Each state's best action."""
        return self.value_and_action(outputs, state=state)[1]

    def value_and_action(
        self,
        outputs: Float[ArrayLike, "*batch outputs"],
        *,
        state: Float[ArrayLike, "*batch features"] | None = None,
    ) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
        """Each state's best action, and its value.

        The value is differentiable in the outputs of the action that was chosen.
        """
        outputs = jnp.asarray(outputs)
        expected = self.hypergraph.num_outputs
        if outputs.ndim == 0 or outputs.shape[-1] != expected:
            raise ValueError(
                f"outputs have shape {outputs.shape}; their last axis must be {expected} long, "
                f"one per output of the hypergraph"
            )
        return _value_and_action(self, outputs, state)


@jax.jit
def _value_and_action(
    self: Maximiser,
    outputs: Float[Array, "*batch outputs"],
    state: Float[Array, "*batch features"] | None,
) -> tuple[Float[Array, "*batch"], Int[Array, "*batch vertices"]]:
    batch = outputs.shape[:-1]
    flat = outputs.reshape(-1, outputs.shape[-1])
    flat_state = None if state is None else state.reshape(-1, state.shape[-1])
    actions = self.way.argmax(
        self.hypergraph,
        jax.lax.stop_gradient(self.mixer),
        jax.lax.stop_gradient(flat),
        jax.lax.stop_gradient(flat_state),
    )
    representations = self.hypergraph.representation(flat, actions)
    values = jax.vmap(self.mixer)(representations, flat_state)
    return values.reshape(batch), actions.reshape(*batch, self.hypergraph.num_vertices)
