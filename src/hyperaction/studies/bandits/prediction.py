"""Predictors and their training: all trials of a model in one compiled loop."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.mixers import AbstractMixer, Sum, Universal
from hyperaction.studies.bandits.settings import (
    EFFECTIVE_LEARNING_RATE,
    MINIBATCH,
    MIXER_WIDTH,
    UPDATES_PER_ITERATION,
    Model,
)


class Predictor(eqx.Module):
    """A table for every hyperedge, one parameter per output, and a mixer."""

    outputs: Float[Array, " outputs"]
    mixer: AbstractMixer
    hypergraph: Hypergraph = eqx.field(static=True)

    def __init__(self, model: Model, size: int, key: PRNGKeyArray) -> None:
        outputs_key, mixer_key = jax.random.split(key)
        hypergraph = model.hypergraph(size)
        # A table is a linear layer with the constant input 1, initialised Xavier-uniformly.
        fan_out = jnp.array(hypergraph.table_sizes)[hypergraph.edge_of_output]
        unit = jax.random.uniform(outputs_key, fan_out.shape, minval=-1.0, maxval=1.0)
        self.outputs = unit * jnp.sqrt(6.0 / (1 + fan_out))
        self.mixer = Sum()
        if model.mixer == "universal":
            self.mixer = Universal(hypergraph.num_edges, MIXER_WIDTH, key=mixer_key)
        self.hypergraph = hypergraph

    def __call__(self, actions: Int[Array, "batch vertices"]) -> Float[Array, " batch"]:
        return jax.vmap(self.mixer)(self.hypergraph.representation(self.outputs, actions))


class Learner(NamedTuple):
    """A predictor in training, with its optimiser."""

    predictor: Predictor
    optimiser: optax.OptState


def _optimiser(hypergraph: Hypergraph) -> optax.GradientTransformation:
    return optax.adam(EFFECTIVE_LEARNING_RATE / hypergraph.num_edges)


def init(model: Model, size: int, key: PRNGKeyArray) -> Learner:
    """The initial learner of a model."""
    predictor = Predictor(model, size, key)
    return Learner(predictor, _optimiser(predictor.hypergraph).init(predictor))


def _update(learner: Learner, rewards: Float[Array, " actions"], key: PRNGKeyArray) -> Learner:
    """One step on a minibatch of rewards, drawn with replacement."""
    predictor, state = learner
    hypergraph = predictor.hypergraph
    flat = jax.random.randint(key, (MINIBATCH,), 0, hypergraph.num_actions)
    actions = _joint(flat, hypergraph)

    def loss(predictor: Predictor) -> Float[Array, ""]:
        return jnp.mean((predictor(actions) - rewards[flat]) ** 2)

    updates, state = _optimiser(hypergraph).update(jax.grad(loss)(predictor), state)
    return Learner(optax.apply_updates(predictor, updates), state)


def _rms(predictor: Predictor, rewards: Float[Array, " actions"]) -> Float[Array, ""]:
    """The root mean squared error over all joint actions."""
    actions = _joint(jnp.arange(rewards.size), predictor.hypergraph)
    return jnp.sqrt(jnp.mean((predictor(actions) - rewards) ** 2))


def _joint(flat: Int[Array, " batch"], hypergraph: Hypergraph) -> Int[Array, "batch vertices"]:
    return jnp.stack(jnp.unravel_index(flat, hypergraph.sizes), axis=-1)


@partial(jax.jit, static_argnames="iterations", donate_argnames="learners")
def train(
    learners: Learner,
    rewards: Float[Array, "trials actions"],
    keys: Key[Array, " trials"],
    done: Int[Array, ""],
    iterations: int,
) -> tuple[Learner, Float[Array, "trials iterations"]]:
    """Trains the learners of all trials for more iterations; returns the error after each, too.

    Minibatches depend only on the key of a trial and the iterations already done, so that training
    can be split into calls anywhere.
    """

    def update(learners: Learner, step: Int[Array, ""]) -> tuple[Learner, None]:
        step_keys = jax.vmap(lambda key: jax.random.fold_in(key, step))(keys)
        return jax.vmap(_update)(learners, rewards, step_keys), None

    def iterate(
        learners: Learner, iteration: Int[Array, ""]
    ) -> tuple[Learner, Float[Array, " trials"]]:
        steps = iteration * UPDATES_PER_ITERATION + jnp.arange(UPDATES_PER_ITERATION)
        learners, _ = jax.lax.scan(update, learners, steps)
        # Trials one by one: all actions of all trials at once take much memory.
        errors = jax.lax.map(lambda one: _rms(*one), (learners.predictor, rewards))
        return learners, errors

    learners, errors = jax.lax.scan(iterate, learners, done + jnp.arange(iterations))
    return learners, errors.T
