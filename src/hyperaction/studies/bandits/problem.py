"""The bandits: random reward functions that approximately decompose over a hypergraph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hyperaction.hypergraph import Hypergraph
from hyperaction.studies.bandits.settings import NUM_VERTICES

REWARD_RANGES = (10.0, 5.0, 2.5)
"""The values of a hyperedge of order 1, 2, 3 are uniform between minus and plus this."""

MAX_HIDDEN = 5
ACTIVATIONS = (
    lambda x: np.maximum(x, 0.0),
    np.tanh,
    lambda x: 0.5 + 0.5 * np.tanh(0.5 * x),  # The sigmoid, without overflow.
    lambda x: x,
)


def reward_function(size: int, seed: tuple[int, ...]) -> NDArray[np.float32]:
    """The rewards of all joint actions of a random bandit, in row-major order."""
    random = np.random.default_rng(seed)
    hypergraph = Hypergraph.complete((size,) * NUM_VERTICES, NUM_VERTICES)
    ranges = np.array([REWARD_RANGES[len(edge) - 1] for edge in hypergraph.edges])
    outputs = random.uniform(-1.0, 1.0, hypergraph.num_outputs) * ranges[hypergraph.edge_of_output]
    representations = hypergraph.representation(outputs, hypergraph.all_actions())
    # A mixing network with one hidden layer of random width, activation and parameters.
    width = random.integers(1, MAX_HIDDEN + 1)
    activation = ACTIVATIONS[random.integers(len(ACTIVATIONS))]
    hidden = representations @ random.uniform(-1.0, 1.0, (hypergraph.num_edges, width))
    hidden = activation(hidden + random.uniform(-1.0, 1.0, width))
    rewards = hidden @ random.uniform(-1.0, 1.0, width) + random.uniform(-1.0, 1.0)
    return rewards.astype(np.float32)
