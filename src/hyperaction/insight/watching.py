"""A trained agent at work: what its network says of every state that the greedy policy visits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.value import ValueAgent
from hyperaction.environments import Factored, Single
from hyperaction.learners import Learner
from hyperaction.training import allowed

CHUNK = 500
"""Steps that are looked at together."""


class Seen(NamedTuple):
    """Some steps of the greedy policy."""

    outputs: NDArray[np.float32]
    """All hyperedges' values, `[steps, num_outputs]`, as much as each weighs in Q(s, a)."""
    actions: NDArray[np.int32]
    values: NDArray[np.float32]
    """Q(s, a) of the chosen actions."""


Look = Callable[[Any, Any], tuple[Any, Any, Any]]
"""All hyperedges' values, the greedy action and its value, of an observation and a mask."""


def looker(learner: Learner) -> Look:
    """What looks into an agent's network; values are as much as each weighs in Q(s, a)."""
    agent = learner.agent
    if not isinstance(agent, ValueAgent):
        raise ValueError(f"{learner.name} has no hyperedges to look into")
    network = learner.state.online
    scale = np.ones(1, np.float32)
    if network.mixer.affine:
        weights = np.asarray(network.mixer.weights(agent.hypergraph.num_edges))
        scale = weights[agent.hypergraph.edge_of_output]

    @jax.jit
    def look(observation: Any, mask: Any) -> tuple[Any, Any, Any]:
        action = network.greedy(observation, mask=mask)
        return scale * network.outputs(observation), action, network(observation, action)

    def looked(observation: Any, mask: Any) -> tuple[Any, Any, Any]:
        outputs, action, value = look(observation, mask)
        if not np.isfinite(outputs).all():
            raise ValueError("the agent's values are not finite: it has diverged")
        return np.asarray(outputs), allowed(np.asarray(action)), np.asarray(value)

    return looked


def watch(learner: Learner, env: Any, steps: int, seed: int) -> Iterator[Seen]:
    """So many steps of the greedy policy in an environment, some at a time."""
    look = looker(learner)
    played = Single(Factored(env, learner.actions))
    played.reset(seed)
    found: list[tuple[Any, Any, Any]] = []
    try:
        for step in range(1, steps + 1):
            mask = None if played.mask is None else played.mask[0]
            outputs, action, value = look(played.observation[0], mask)
            found.append((outputs, action, value))
            played.step(action[None])
            if len(found) == CHUNK or step == steps:
                yield Seen(*(np.stack(part) for part in zip(*found, strict=True)))
                found.clear()
    finally:
        played.close()
