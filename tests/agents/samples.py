"""Small agents and batches that tests of agents share."""

from functools import cache

import jax
import numpy as np

from hyperaction.agents.batch import Batch
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.parts import with_changes
from hyperaction.agents.q_learning import QLearningState
from tests.modules import random_like


@cache
def compiled(agent):
    return jax.jit(agent.init), jax.jit(agent.update)


def init(agent, seed=0):
    return compiled(agent)[0](jax.random.key(seed))


def random_state(agent, seed=0):
    """A state of random online and target networks, before any update; nothing is compiled."""
    shapes = jax.eval_shape(agent.init, jax.random.key(0))
    online, target = random_like(shapes[:2], seed)
    optimiser = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes.optimiser)
    memory = agent.config.objective.init(agent.hypergraph)
    return QLearningState(online, target, optimiser, memory)


def update(agent, state, batch):
    state, info = compiled(agent)[1](state, batch)
    return state, jax.tree.map(np.asarray, info)


def agent_for(sizes=(3, 2), **changes):
    small = {"hidden": (16,), "total_width": 20, "orders": (1, 2)}
    return with_changes(QLearningConfig(), {**small, **changes}).build(sizes, (4,))


def batch_for(agent, count=6, seed=0, weight=None):
    random = np.random.default_rng(seed)
    discount = np.where(np.arange(count) % 3 == 0, 0.0, 0.9).astype(np.float32)
    return Batch(
        random.normal(size=(count, 4)).astype(np.float32),
        random.integers(agent.hypergraph.sizes, size=(count, 2)).astype(np.int32),
        random.normal(size=count).astype(np.float32),
        discount,
        random.normal(size=(count, 4)).astype(np.float32),
        None,
        weight,
    )
