"""What an agent has learned, in Python: which dimensions of the action matter, and which together.

The values of all joint actions are split into what each dimension explains by itself and what pairs
add to it (the functional ANOVA decomposition, in docs/insight.md). Of a run that was saved,
`hyperaction explain` shows the same. Run it: `python examples/explain_agent.py --steps 2000`.
"""

from __future__ import annotations

import argparse

import jax
import numpy as np
from locks import Locks

from hyperaction import HGQN
from hyperaction.anova import canonical, uniform, variances


def shares(network, observations):
    """The share of the variance of Q over joint actions that each set of dimensions explains."""
    hypergraph = network.hypergraph
    outputs = np.asarray(jax.vmap(network.outputs)(observations))
    weights = np.asarray(network.mixer.weights(hypergraph.num_edges))
    form = canonical(hypergraph, outputs * weights[hypergraph.edge_of_output])
    parts = variances(form, uniform(hypergraph))
    sums = {part: float(variance.sum()) for part, variance in parts.items()}
    return {part: variance / sum(sums.values()) for part, variance in sums.items()}


def main(steps=2000, seed=0):
    settings = {"hidden": [64], "learning_starts": 200, "learning_rate": 2e-3, "discount": 0.5}
    agent = HGQN(Locks(), rank=2, seed=seed, **settings).learn(steps)
    env = Locks()
    env.reset(seed=seed)
    observations = np.stack([env.step(env.action_space.sample())[0] for _ in range(100)])
    found = shares(agent.state.online, observations)
    for part, share in sorted(found.items(), key=lambda item: -item[1]):
        print(f"dials {part}: {share:6.1%}")
    observation = observations[0]
    action = agent.act(observation)
    print(f"the best action is {action}, of value {agent.q_value(observation, action):.2f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
