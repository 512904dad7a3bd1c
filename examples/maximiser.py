"""The maximiser by itself: the best joint action of any tables, with no learning around it.

Forty machines in a row choose one of five speeds; neighbours influence each other. There are 5^40
joint actions, and the best of them is found exactly. Run it: `python examples/maximiser.py`.
"""

from __future__ import annotations

import argparse

import numpy as np

from hyperaction import Cardinality, Hypergraph, maximiser


def main(machines=40, states=64, seed=0):
    hypergraph = Hypergraph.from_chains([5] * machines, [range(machines)])
    print(hypergraph)
    best = maximiser(hypergraph)
    print(best.explain())
    # One value for each entry of each hyperedge's table, side by side; here of many states.
    outputs = np.random.default_rng(seed).normal(size=(states, hypergraph.num_outputs))
    values, actions = best.value_and_action(outputs)
    print(f"state 0: {float(values[0]):.3f} by {np.asarray(actions[0])}")

    # What is allowed in each state: here no machine may run at full speed.
    mask = np.tile([True, True, True, True, False], (states, machines))
    slower = best.max(outputs, mask=mask)
    print(f"without full speed: {float(slower[0]):.3f}")

    # What holds in every state: at most ten machines run at all.
    few = maximiser(hypergraph, constraints=Cardinality(at_most=10))
    print(f"with ten machines: {float(few.max(outputs)[0]):.3f}")

    # The five best joint actions, and a draw by exp(value / temperature).
    top = best.best(outputs[0], 5)
    print("the five best:", np.round(np.asarray(top.values), 3))
    soft = best.soft(outputs, 0.1)
    print(f"soft maximum at temperature 0.1: {float(soft[0]):.3f}")
    return np.asarray(values), np.asarray(slower), np.asarray(soft), np.asarray(top.values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=40)
    parser.add_argument("--states", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
