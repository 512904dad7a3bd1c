"""The only loop: act, step, store, update, evaluate, log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.settings import ValueSettings
from hyperaction.agents.value import Minibatch, ValueAgent, ValueState
from hyperaction.environments import Factored
from hyperaction.maximise import random_actions
from hyperaction.replay import NStep, Priorities, Ring
from hyperaction.runs import Run

EVALUATION_EPSILON = 0.001

Progress = Callable[[int, float | None], None]
"""Told the steps done and the last evaluation's return."""


def exploration(settings: ValueSettings, step: int) -> float:
    """The share of random actions: one until learning starts, then falling linearly."""
    left = settings.replay_start + settings.epsilon_steps - step
    share = min(max(left / settings.epsilon_steps, 0.0), 1.0)
    return settings.epsilon + (1.0 - settings.epsilon) * share


@jax.tree_util.register_pytree_node_class
class Flat:
    """A pytree kept as its leaves: modules take longer to take apart than to compute with."""

    def __init__(self, tree: ValueState) -> None:
        self.leaves, self.structure = jax.tree.flatten(tree)

    @property
    def tree(self) -> ValueState:
        """The pytree itself."""
        return jax.tree.unflatten(self.structure, self.leaves)

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """As JAX asks."""
        return self.leaves, self.structure

    @classmethod
    def tree_unflatten(cls, structure: Any, leaves: Any) -> Flat:
        """As JAX asks."""
        flat = object.__new__(cls)
        flat.leaves, flat.structure = list(leaves), structure
        return flat


class Actor:
    """Chooses between a random and the greedy action."""

    def __init__(self, agent: ValueAgent, random: np.random.Generator) -> None:
        self.sizes = np.array(agent.hypergraph.sizes, np.int32)
        self.random = random
        self._greedy = jax.jit(
            lambda state, observation, mask: agent.act(state.tree, observation, mask)
        )
        self._allowed = jax.jit(lambda key, mask: random_actions(agent.hypergraph, key, mask))

    def explore(self, mask: NDArray[np.bool_] | None) -> NDArray[np.int32]:
        """A random action that the mask allows."""
        if mask is None:
            return self.random.integers(self.sizes, dtype=np.int32)
        key = jax.random.key(int(self.random.integers(2**31)))
        return np.asarray(self._allowed(key, mask))

    def greedy(
        self, state: Flat, observation: NDArray[np.float32], mask: NDArray[np.bool_] | None
    ) -> NDArray[np.int32]:
        """The greedy action."""
        return np.asarray(self._greedy(state, observation, mask))


class Training:
    """An agent in its environment, with everything that changes as it learns."""

    def __init__(
        self, agent: ValueAgent, env: Factored, evaluation_env: Factored, seed: int
    ) -> None:
        self.agent = agent
        self.settings = agent.settings
        self.env, self.evaluation_env = env, evaluation_env
        start_seed, act_seed, replay_seed, env_seed, evaluation_seed = (
            int(word) for word in np.random.SeedSequence(seed).generate_state(5)
        )
        self.random = np.random.default_rng(replay_seed)
        self.actor = Actor(agent, np.random.default_rng(act_seed))
        self.state = Flat(jax.jit(lambda key: agent.start(key))(jax.random.key(start_seed)))
        self.n_step = NStep(self.settings.n_step, self.settings.discount)
        self.priorities = (
            Priorities(self.settings.replay_size) if self.settings.prioritised else None
        )
        self.step = 0
        self.observation, self.mask = env.reset(env_seed)
        self.evaluation_start = evaluation_env.reset(evaluation_seed)
        self.ring = Ring(
            self.settings.replay_size,
            env.observation_shape,
            agent.hypergraph.num_vertices,
            None if self.mask is None else len(self.mask),
        )
        self.next_greedy: NDArray[np.int32] | None = None
        self._learn_and_act = jax.jit(_learn_and_act(agent), donate_argnums=0)
        self._copy_target = jax.jit(
            lambda state: Flat(agent.copy_target(state.tree)), donate_argnums=0
        )

    def advance(self) -> tuple[float, bool, jax.Array | None]:
        """One step of the environment, and the learning that goes with it.

        Gives the reward, whether the episode ended, and the loss if there was an update.
        """
        action = self._choose()
        found = self.env.step(action)
        transitions = self.n_step.add(
            self.observation,
            action,
            found.reward,
            found.observation,
            terminated=found.terminated,
            truncated=found.truncated,
            next_mask=found.mask,
        )
        for transition in transitions:
            place = self.ring.add(transition)
            if self.priorities is not None:
                self.priorities.add(place)
        ended = found.terminated or found.truncated
        self.observation, self.mask = self.env.reset() if ended else (found.observation, found.mask)
        self.step += 1
        self.next_greedy = None
        loss = None
        if self.step > self.settings.replay_start:
            if self.step % self.settings.update_period == 0:
                loss = self._update()
            if not self.settings.polyak and self.step % self.settings.target_period == 0:
                self.state = self._copy_target(self.state)
        return found.reward, ended, loss

    def _choose(self) -> NDArray[np.int32]:
        if self.actor.random.random() < exploration(self.settings, self.step):
            return self.actor.explore(self.mask)
        if self.next_greedy is not None:
            return self.next_greedy
        return self.actor.greedy(self.state, self.observation, self.mask)

    def _update(self) -> jax.Array:
        count = self.settings.minibatch
        weight = None
        if self.priorities is None:
            places = self.random.integers(len(self.ring), size=count)
        else:
            places = self.priorities.sample(count, self.random)
            weight = self.priorities.weights(places)
        batch = Minibatch(*self.ring.take(places), weight)  # type: ignore[arg-type]
        self.state, learned, greedy = self._learn_and_act(
            self.state, batch, self.observation, self.mask
        )
        if self.priorities is not None:
            self.priorities.set(places, np.sqrt(np.asarray(learned.losses)) + 1e-10)
        self.next_greedy = np.asarray(greedy)
        return learned.loss

    def evaluate(self, steps: int) -> list[float]:
        """The returns of the almost greedy policy in whole episodes, of at least so many steps."""
        returns, done = [], 0
        observation, mask = self.evaluation_start
        while done < steps:
            total, ended = 0.0, False
            while not ended:
                if self.actor.random.random() < EVALUATION_EPSILON:
                    action = self.actor.explore(mask)
                else:
                    action = self.actor.greedy(self.state, observation, mask)
                found = self.evaluation_env.step(action)
                observation, mask = found.observation, found.mask
                total += found.reward
                ended = found.terminated or found.truncated
                done += 1
            returns.append(total)
            observation, mask = self.evaluation_env.reset()
        self.evaluation_start = observation, mask
        return returns


def _learn_and_act(agent: ValueAgent) -> Callable[..., Any]:
    def compute(
        state: Flat, batch: Minibatch, observation: jax.Array, mask: jax.Array | None
    ) -> tuple[Flat, Any, jax.Array]:
        new, learned, action = agent.learn_and_act(state.tree, batch, observation, mask)
        return Flat(new), learned, action

    return compute


def train(
    training: Training,
    steps: int,
    run: Run,
    progress: Progress,
    *,
    phase_steps: int = 10_000,
    evaluation_steps: int = 5_000,
) -> None:
    """Trains until so many steps are done, in phases of whole episodes that end in evaluations."""
    last: float | None = None
    while training.step < steps:
        started = time.perf_counter()
        first = training.step
        returns, losses, total = [], [], 0.0
        while True:
            reward, ended, loss = training.advance()
            total += reward
            if ended:
                returns.append(total)
                total = 0.0
            if loss is not None and training.step % 100 == 0:
                losses.append(loss)
            if training.step % 200 == 0:
                progress(training.step, last)
            if training.step - first >= phase_steps and ended:
                break
        values: dict[str, Any] = {
            "step": training.step,
            "return": float(np.mean(returns)),
            "episodes": len(returns),
            "epsilon": exploration(training.settings, training.step),
        }
        if losses:
            values["loss"] = float(jnp.mean(jnp.stack(losses)))
        seconds = time.perf_counter() - started
        run.log("train", **values, steps_per_second=(training.step - first) / seconds)
        found = training.evaluate(evaluation_steps)
        last = float(np.mean(found))
        run.log(
            "eval",
            step=training.step,
            **{"return": last},
            episodes=len(found),
            lowest=min(found),
            highest=max(found),
        )
        progress(training.step, last)
