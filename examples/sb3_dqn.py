"""Stable-Baselines3's DQN for a `MultiDiscrete` action space, which it refuses by itself.

A Q-network whose last layer is a `HypergraphHead`, the policy that makes it, and DQN with the loss
of a joint action. Replay, exploration, logging, callbacks, saving and vector environments stay
those of Stable-Baselines3. Run it: `python examples/sb3_dqn.py --steps 4000`.
"""

from __future__ import annotations

import argparse

import torch
from gymnasium import spaces
from locks import Locks
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from hyperaction import Hypergraph
from hyperaction.torch import HypergraphHead


class HypergraphQNetwork(QNetwork):
    """Stable-Baselines3's Q-network with another last layer."""

    def __init__(self, *, action_space, rank, **options):
        super().__init__(action_space=spaces.Discrete(1), **options)
        self.action_space = action_space
        hypergraph = Hypergraph.complete(action_space.nvec, rank)
        *body, last = self.q_net
        self.q_net = nn.Sequential(*body, HypergraphHead(hypergraph, last.in_features))

    def features(self, observations):
        return self.q_net[:-1](self.extract_features(observations, self.features_extractor))

    def q_values(self, observations, actions):
        return self.q_net[-1].q_values(self.features(observations), actions)

    def max(self, observations):
        return self.q_net[-1].max(self.features(observations))

    def _predict(self, observation, deterministic=True):
        return self.q_net[-1].greedy(self.features(observation))


class HypergraphPolicy(DQNPolicy):
    """Makes such networks; `policy_kwargs={"rank": 3}` for other hyperedges."""

    def __init__(self, *args, rank=2, **options):
        self.rank = rank
        super().__init__(*args, **options)

    def make_q_net(self):
        options = self._update_features_extractor(self.net_args, features_extractor=None)
        return HypergraphQNetwork(rank=self.rank, **options).to(self.device)

    def _get_constructor_parameters(self):
        return {**super()._get_constructor_parameters(), "rank": self.rank}


class MultiDiscreteOnly(OffPolicyAlgorithm):
    """Follows DQN among the base classes, and replaces the action spaces that DQN names there."""

    def __init__(self, *args, supported_action_spaces, **options):
        super().__init__(*args, supported_action_spaces=(spaces.MultiDiscrete,), **options)


class HypergraphDQN(DQN, MultiDiscreteOnly):
    """DQN with the values of joint actions."""

    policy_aliases = {"HypergraphPolicy": HypergraphPolicy}  # noqa: RUF012

    def train(self, gradient_steps, batch_size=100):
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            discounts = self.gamma if batch.discounts is None else batch.discounts.flatten()
            with torch.no_grad():
                best = self.q_net_target.max(batch.next_observations)
                target = batch.rewards.flatten() + (1 - batch.dones.flatten()) * discounts * best
            current = self.q_net.q_values(batch.observations, batch.actions.long())
            loss = nn.functional.smooth_l1_loss(current, target)
            self.policy.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
        self._n_updates += gradient_steps
        self.logger.record("train/loss", loss.item())


def main(steps=4000, rank=2, seed=0):
    torch.set_num_threads(1)  # Networks as small as this are faster so.
    model = HypergraphDQN(
        "HypergraphPolicy",
        Monitor(Locks()),
        learning_rate=2e-3,
        gamma=0.5,
        learning_starts=200,
        batch_size=64,
        train_freq=1,
        target_update_interval=100,
        exploration_fraction=0.5,
        buffer_size=steps,
        policy_kwargs={"rank": rank},
        seed=seed,
    )
    model.learn(steps)
    result, _ = evaluate_policy(model, Monitor(Locks()), n_eval_episodes=10)
    print(f"greedy: {result:.1f} of 30")
    return model, result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rank", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
