"""A DQN in PyTorch, in one file as CleanRL's are, for an action of several dimensions.

The lines that a DQN for one dimension has otherwise end with `# changed`: the last layer, the
greedy action, the best next value, and the replay of several integers instead of one.
Run it: `python examples/pytorch_dqn.py --steps 4000`.
"""

from __future__ import annotations

import argparse
import copy

import numpy as np
import torch
from locks import Locks
from torch import nn

from hyperaction import Hypergraph  # changed
from hyperaction.torch import HypergraphHead  # changed


class QNetwork(nn.Module):
    def __init__(self, env, rank, width=64):
        super().__init__()
        inputs = int(np.prod(env.observation_space.shape))
        self.body = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        hypergraph = Hypergraph.complete(env.action_space.nvec, rank)  # changed
        self.head = HypergraphHead(hypergraph, width)  # changed

    def value(self, observations, actions):
        return self.head.q_values(self.body(observations), actions)  # changed

    def best_value(self, observations):
        return self.head.max(self.body(observations))  # changed

    def greedy(self, observations):
        return self.head.greedy(self.body(observations))  # changed


class ReplayBuffer:
    def __init__(self, env, size):
        shape, vertices = env.observation_space.shape, len(env.action_space.nvec)  # changed
        self.observations = np.zeros((size, *shape), np.float32)
        self.next_observations = np.zeros((size, *shape), np.float32)
        self.actions = np.zeros((size, vertices), np.int64)  # changed
        self.rewards, self.discounts = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.size, self.added = size, 0

    def add(self, observation, action, reward, discount, next_observation):
        place = self.added % self.size
        self.observations[place], self.next_observations[place] = observation, next_observation
        self.actions[place], self.rewards[place] = action, reward
        self.discounts[place] = discount
        self.added += 1

    def sample(self, random, batch_size):
        places = random.integers(min(self.added, self.size), size=batch_size)
        arrays = (self.observations, self.actions, self.rewards, self.discounts)
        return [torch.from_numpy(a[places]) for a in (*arrays, self.next_observations)]


def evaluate(network, episodes):
    env, total = Locks(), 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=1000 + episode)
        truncated = False
        while not truncated:
            action = network.greedy(torch.from_numpy(observation)).numpy()
            observation, reward, _, truncated, _ = env.step(action)
            total += reward / episodes
    return total


def main(steps=4000, rank=2, seed=0, learning_starts=200, batch_size=64, discount=0.5):
    torch.set_num_threads(1)  # Networks as small as this are faster so.
    torch.manual_seed(seed)
    random, env = np.random.default_rng(seed), Locks()
    online = QNetwork(env, rank)
    target = copy.deepcopy(online)
    optimiser = torch.optim.Adam(online.parameters(), lr=2e-3)
    replay = ReplayBuffer(env, steps)
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    for step in range(steps):
        epsilon = max(0.05, 1.0 - 2.0 * step / steps)
        if random.random() < epsilon:
            action = env.action_space.sample()
        else:
            action = online.greedy(torch.from_numpy(observation)).numpy()  # changed
        next_observation, reward, terminated, truncated, _ = env.step(action)
        replay.add(observation, action, reward, discount * (not terminated), next_observation)
        observation = env.reset()[0] if terminated or truncated else next_observation
        if step < learning_starts:
            continue
        states, actions, rewards, discounts, next_states = replay.sample(random, batch_size)
        with torch.no_grad():
            wanted = rewards + discounts * target.best_value(next_states)  # changed
        loss = nn.functional.mse_loss(online.value(states, actions), wanted)  # changed
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            target.load_state_dict(online.state_dict())
    result = evaluate(online, episodes=10)
    print(f"greedy: {result:.1f} of 30")
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rank", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
