"""Steps per second of the environments of a suite, as a run steps them, with random legal actions.

python -m tests.envs.speed jumanji:Tetris-v0 jumanji:BinPack-v2 --num-envs 1 64
"""

import argparse
import time

import jax
import numpy as np

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import random_actions
from hyperaction.training.config import parse_train


def measure(name, count, seconds):
    """Steps per second, and per second of the processor, without choosing the actions."""
    envs = parse_train([name, "--num-envs", str(count)]).make_envs()
    envs.reset(0)
    hypergraph = Hypergraph.complete(envs.actions.sizes, 1)
    draw = jax.jit(lambda key, mask: random_actions(hypergraph, key, mask))
    key, steps, wall, cpu = jax.random.key(0), 0, 0.0, 0.0
    until = None
    while until is None or time.monotonic() < until:
        key, drawn = jax.random.split(key)
        actions = np.asarray(draw(drawn, envs.mask))
        started, worked = time.perf_counter(), time.process_time()
        envs.step(actions)
        if until is None:  # The first step compiles.
            until = time.monotonic() + seconds
            continue
        wall += time.perf_counter() - started
        cpu += time.process_time() - worked
        steps += count
    envs.close()
    return steps / wall, steps / cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("envs", nargs="+")
    parser.add_argument("--num-envs", type=int, nargs="+", default=(1, 64))
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    for name in options.envs:
        for count in options.num_envs:
            wall, cpu = measure(name, count, options.seconds)
            print(f"{name:28} {count:3} {wall:8.0f} steps/s {cpu:8.0f} steps per CPU second")


if __name__ == "__main__":
    main()
