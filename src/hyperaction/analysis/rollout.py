"""Trained agents of runs, and episodes of their policies."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.q_learning import QLearningAgent
from hyperaction.analysis.trained_agent import MakeEnv, load_agent
from hyperaction.api import BaseAgent
from hyperaction.envs.action_maps import Continuous, Discretised
from hyperaction.envs.names import are_numbers, from_env
from hyperaction.envs.statistics import freeze
from hyperaction.hypergraph import Hypergraph
from hyperaction.networks import (
    AbstractQFunction,
    AbstractSearchedNetwork,
    AbstractValueNetwork,
)
from hyperaction.training.compiled import check_actions
from hyperaction.training.episodes import Episode

CHUNK = 500
"""Steps per chunk of a rollout."""


class Trained(NamedTuple):
    """The Q-learning agent of a run, and a factory of its environment."""

    env: str
    learner: BaseAgent
    hypergraph: Hypergraph
    make_env: MakeEnv

    @property
    def fps(self) -> float:
        """Steps per second, from the metadata of the environment."""
        with closing(self.make_env()) as env:
            return float(env.metadata.get("render_fps") or 30)

    @property
    def edges(self) -> tuple[tuple[int, ...], ...]:
        """The hyperedges whose values are mixed into Q; none where it is not such a mix."""
        mixed = isinstance(self.learner.state.online, AbstractValueNetwork)
        return self.hypergraph.edges if mixed else ()

    @property
    def affine(self) -> bool:
        """Whether Q is a weighted sum of the hyperedges' values."""
        return bool(self.learner.state.online.mixer.affine)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the vertices; those of earlier versions' agents are the environment's."""
        actions = self.learner.actions
        if not are_numbers(actions.names):
            return actions.names
        has_joints = isinstance(actions, Discretised | Continuous)
        with closing(self.make_env()) as env:
            return from_env(env, len(actions.sizes), has_joints=has_joints) or actions.names


def load_trained(
    run: Path,
    *,
    env: str = "",
    trust: bool = False,
    parts: Mapping[str, str] | None = None,
    with_hyperedges: bool = False,
) -> Trained:
    """The Q-learning agent of a run or a file; `env`, `trust` and `parts` as in `load_agent`.

    Args:
        run: The directory of the run, or the file of an agent.
        env: The environment to use, instead of the run's own.
        trust: Whether modules that the run names may be imported.
        parts: Parts of the user's own.
        with_hyperedges: Refuse agents whose values are not mixed from those of hyperedges.
    """
    loaded = load_agent(run, env, trust, parts)
    learner = loaded.learner
    if not isinstance(learner.agent, QLearningAgent):
        raise ValueError(f"{run}: {learner.name} has no hyperedges")
    network = learner.state.online
    if with_hyperedges and isinstance(network, AbstractSearchedNetwork):
        raise ValueError(f"{run}: {network.unexplained}")
    return Trained(loaded.env, learner, learner.agent.hypergraph, loaded.make_env)


def play(
    run: Path,
    episodes: int,
    seed: int,
    on_episode: Callable[[Episode], None],
    *,
    env: str = "",
    trust: bool = False,
    parts: Mapping[str, str] | None = None,
    greedy: bool = False,
) -> list[Episode]:
    """Plays the agent of a run as its evaluations do, or greedily; others as in `load_agent`."""
    loaded = load_agent(run, env, trust, parts)
    with closing(loaded.make_env()) as made:
        return loaded.learner.evaluate(made, episodes, seed, on_episode, greedy=greedy)


class Decision(NamedTuple):
    """The greedy action in a state, and the values that it is based on."""

    outputs: NDArray[np.float32]
    """All hyperedges' values, `[num_outputs]`, multiplied by their weights in Q(s, a); none where
    Q is not mixed from such values."""
    action: NDArray[np.int32]
    value: NDArray[np.float32]
    """Q(s, a) of the action."""


Policy = Callable[[Any, Any], Decision]
"""Decides on an action, given an observation and a mask."""


def greedy_policy(learner: BaseAgent) -> Policy:
    """The greedy policy of an agent with hyperedges."""
    agent = learner.agent
    if not isinstance(agent, QLearningAgent):
        raise ValueError(f"{learner.name} has no hyperedges")
    state = learner.state
    network = agent.acting(state)

    @jax.jit
    def compute(observation: Any, mask: Any) -> tuple[Any, Any, Any]:
        action = agent.act(state, observation, mask)
        return weighted_outputs(network, observation), action, network(observation, action)

    def decide(observation: Any, mask: Any) -> Decision:
        outputs, action, value = compute(observation, mask)
        if not np.isfinite(outputs).all():
            raise ValueError("the agent's values are not finite: it has diverged")
        check_actions(np.asarray(action)[None], agent, None if mask is None else mask[None])
        return Decision(np.asarray(outputs), np.asarray(action), np.asarray(value))

    return decide


def weighted_outputs(network: AbstractQFunction, observation: Any) -> Any:
    """What `Decision.outputs` holds."""
    if not isinstance(network, AbstractValueNetwork):
        return np.zeros(0, np.float32)
    outputs = network.outputs(observation)
    if not network.mixer.affine:
        return outputs
    hypergraph = network.hypergraph
    return outputs * network.mixer.weights(hypergraph.num_edges)[hypergraph.edge_of_output]


class Outcome(NamedTuple):
    """What an action led to."""

    reward: float
    terminated: bool
    truncated: bool


class Step(NamedTuple):
    """A state that the policy acts in, before the action is taken."""

    decision: Decision
    total: float
    """The return of the episode so far."""
    episode: int
    """The number of the episode, from 1."""
    number: int
    """The number of the step in the episode, from 0."""
    before: Outcome | None
    """What the step before it led to, if there was one."""


def play_greedily(learner: BaseAgent, env: Any, seed: int) -> Generator[Step, None, None]:
    """Steps of the greedy policy, episode after episode; closes the environment in the end."""
    policy = greedy_policy(learner)
    single = learner.evaluation_env(env)
    freeze(single.env.env, learner.statistics)
    episode, number, total = 1, 0, 0.0
    outcome = None
    try:
        single.reset(seed)
        while True:
            mask = None if single.mask is None else single.mask[0]
            decision = policy(single.observation[0], mask)
            yield Step(decision, total, episode, number, outcome)
            result = single.step(decision.action[None])
            rows = (result.reward, result.terminated, result.truncated)
            outcome = Outcome(*(row[0].item() for row in rows))
            total, number = total + outcome.reward, number + 1
            if outcome.terminated or outcome.truncated:
                episode, number, total = episode + 1, 0, 0.0
    finally:
        single.close()


class Rollout(NamedTuple):
    """Consecutive steps of the greedy policy, one row per step."""

    outputs: NDArray[np.float32]
    actions: NDArray[np.int32]
    values: NDArray[np.float32]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    """Also where the steps end."""


def rollouts(learner: BaseAgent, env: Any, steps: int, seed: int) -> Iterator[Rollout]:
    """The given number of steps of the greedy policy, in chunks."""
    with closing(play_greedily(learner, env, seed)) as played:
        # What a step led to is known at the next.
        pairs = enumerate(pairwise(islice(played, steps + 1)), start=1)
        rows = (
            (*step.decision, *_outcome(after, steps == count)) for count, (step, after) in pairs
        )
        while chunk := list(islice(rows, CHUNK)):
            yield Rollout(*(np.stack(part) for part in zip(*chunk, strict=True)))


def _outcome(after: Step, is_last: bool) -> Outcome:
    assert after.before is not None
    outcome = after.before
    return outcome._replace(truncated=outcome.truncated or is_last)
