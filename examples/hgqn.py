"""Hypergraph Q-network in one file: replay, target network, epsilon-greedy, nothing hidden.

Learns to steer a point to the middle of a square with two thrusters, each with five settings:
`python examples/hgqn.py --rank 2 --steps 6000`. Take what you need.
"""

from __future__ import annotations

import argparse
import itertools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax

from hyperaction import MLP, Hypergraph, QNetwork


class Steering(gymnasium.Env):
    """A point that slides in a square; two thrusters push it, along x and along y."""

    observation_space = gymnasium.spaces.Box(-2.0, 2.0, (4,), np.float32)
    action_space = gymnasium.spaces.MultiDiscrete([5, 5])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.speed, self.left = self.np_random.uniform(-1, 1, 2), np.zeros(2), 40
        return self._observation(), {}

    def step(self, action):
        self.speed = 0.8 * self.speed + 0.1 * np.linspace(-1, 1, 5)[action]
        self.place = np.clip(self.place + self.speed, -1, 1)
        self.left -= 1
        reward = -float(np.abs(self.place).sum())
        return self._observation(), reward, False, self.left == 0, {}

    def _observation(self):
        return np.concatenate([self.place, self.speed]).astype(np.float32)


def loss(online, target, batch, discount):
    """The squared error of Q(s, a) against the reward and the best next value."""
    observation, action, reward, next_observation = batch
    # The greedy joint action comes from the maximiser: no joint action is listed.
    best = jax.vmap(target.max)(next_observation)
    aim = jax.lax.stop_gradient(reward + discount * best)
    return jnp.mean((aim - jax.vmap(online)(observation, action)) ** 2)


def main(rank: int, steps: int, seed: int) -> float:
    env = Steering()
    hypergraph = Hypergraph.complete(env.action_space.nvec, rank)
    print(hypergraph)
    state_key, network_key = jax.random.split(jax.random.key(seed))
    state_network = MLP(env.observation_space.shape, (64, 64), key=state_key)
    online = QNetwork(hypergraph, state_network, width=32, key=network_key)
    optimiser = optax.adam(1e-3)

    @jax.jit
    def update(online, target, moments, batch):
        gradient = jax.grad(loss)(online, target, batch, 0.95)
        change, moments = optimiser.update(gradient, moments, online)
        return optax.apply_updates(online, change), moments

    greedy = jax.jit(lambda network, observation: network.greedy(observation))
    target, moments = online, optimiser.init(online)
    observations = np.zeros((2, steps, 4), np.float32)
    actions, rewards = np.zeros((steps, 2), np.int32), np.zeros(steps, np.float32)
    replay = [observations[0], actions, rewards, observations[1]]
    random = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    returns, total = [], 0.0
    for step in range(steps):
        epsilon = max(0.05, 1.0 - 2.0 * step / steps)
        if random.random() < epsilon:
            action = random.integers(env.action_space.nvec)
        else:
            action = np.asarray(greedy(online, observation))
        next_observation, reward, _, truncated, _ = env.step(action)
        # Episodes end by the clock alone: that is no termination, so all values bootstrap.
        for array, value in zip(
            replay, (observation, action, reward, next_observation), strict=True
        ):
            array[step] = value
        total += reward
        observation = next_observation
        if truncated:
            returns.append(total)
            total = 0.0
            observation, _ = env.reset()
        if step > 200:
            places = random.integers(step, size=64)
            online, moments = update(online, target, moments, [a[places] for a in replay])
        if step % 200 == 0:
            target = online
            recent = np.mean(returns[-5:]) if returns else float("nan")
            print(f"step {step:>6}  return of the last five episodes {recent:8.2f}")

    total = 0.0
    for episode in range(10):
        observation, _ = env.reset(seed=1000 + episode)
        for _ in itertools.count():
            action = np.asarray(greedy(online, observation))
            observation, reward, _, truncated, _ = env.step(action)
            total += reward / 10
            if truncated:
                break
    print(f"greedy: {total:.2f}")
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
