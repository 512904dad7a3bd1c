"""Small agents and batches that tests of agents share."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction.agents.batch import Batch
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.parts import with_changes


@cache
def compiled(agent):
    return jax.jit(agent.init), jax.jit(agent.update)


def init(agent, seed=0):
    return compiled(agent)[0](jax.random.key(seed))


def update(agent, state, batch):
    return compiled(agent)[1](state, batch)


def agent_for(sizes=(3, 2), **changes):
    small = {"hidden": (16,), "total_width": 20, "orders": (1, 2)}
    return with_changes(QLearningConfig(), {**small, **changes}).build(sizes, (4,))


def batch_for(agent, count=6, seed=0, weight=None):
    random = np.random.default_rng(seed)
    discount = np.where(np.arange(count) % 3 == 0, 0.0, 0.9).astype(np.float32)
    return Batch(
        jnp.asarray(random.normal(size=(count, 4)).astype(np.float32)),
        jnp.asarray(random.integers(agent.hypergraph.sizes, size=(count, 2)).astype(np.int32)),
        jnp.asarray(random.normal(size=count).astype(np.float32)),
        jnp.asarray(discount),
        jnp.asarray(random.normal(size=(count, 4)).astype(np.float32)),
        None,
        weight,
    )
