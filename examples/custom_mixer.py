"""A mixer of your own: each order of hyperedges has one learned weight.

What the class says of itself, `affine` and `monotonic`, is what the maximiser plans by: a weighted
sum is maximised exactly, whatever its weights.
Run it: `python examples/custom_mixer.py --steps 2000`.
"""

from __future__ import annotations

import argparse
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from locks import Locks

from hyperaction import HGQN, AbstractMixer


class OrderWeights(AbstractMixer):
    """Q(s, a) is the sum of all values of order 1 times one weight, of order 2 times another."""

    monotonic: ClassVar[bool] = True
    affine: ClassVar[bool] = True
    raw: jax.Array
    orders: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, hypergraph, features, key):
        self.orders = tuple(len(edge) for edge in hypergraph.edges)
        self.raw = jnp.zeros(hypergraph.rank)

    def weights(self, num_edges):
        return jax.nn.softplus(self.raw)[np.array(self.orders) - 1]  # Never negative.

    def __call__(self, representation, state=None):
        return self.weights(len(self.orders)) @ representation


def main(steps=2000, seed=0):
    settings = {"hidden": [64], "learning_starts": 200, "learning_rate": 2e-3, "discount": 0.5}
    agent = HGQN(Locks(), rank=2, mixer=OrderWeights, critics=1, seed=seed, **settings)
    print(agent.maximisation)
    agent.learn(steps)
    singles, pairs = jax.nn.softplus(agent.state.online.mixer.raw)
    returns = [episode.total for episode in agent.evaluate(Locks(), episodes=20, greedy=True)]
    print(f"mean return: {np.mean(returns):.1f} of 30; weights {singles:.2f} and {pairs:.2f}")
    return float(np.mean(returns)), float(singles), float(pairs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
