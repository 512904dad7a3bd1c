"""Changes of an agent's hyperedges and sub-actions while it learns.

When they are due, what moves with them, and what a checkpoint stores of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpy.typing import NDArray

from hyperaction.agents.growth import on_grid
from hyperaction.agents.moments import ADAM, RMSPROP, Moments
from hyperaction.agents.optimisers import Adam, RMSProp, as_optimiser
from hyperaction.agents.q_learning import QLearningAgent, QLearningState
from hyperaction.agents.restructure import (
    interpolated,
    moved_moments,
    needed_width,
    restructured,
)
from hyperaction.agents.structure import STRUCTURE_LIKE, Change, Structure, Vertices, check_size
from hyperaction.anova import canonical, uniform, variances
from hyperaction.hypergraph import Hypergraph
from hyperaction.networks import QNetwork
from hyperaction.runs.state import check_like
from hyperaction.training.episodes import Episode

if TYPE_CHECKING:
    from hyperaction.training.trainer import Trainer

STATES = 1_000
"""States of replay that variances are averaged over, where the structure does not say."""

CHUNK = 250
"""States whose values are computed at once."""


def change_if_due(trainer: Trainer, ended: Sequence[Episode]) -> None:
    """Gives a trainer's agent its next hyperedges or sub-actions, if it is time for them."""
    if getattr(trainer.agent, "structure", None) is not None:
        _grow_if_due(trainer, ended)
        _change_edges_if_due(trainer)


def _grow_if_due(trainer: Trainer, ended: Sequence[Episode]) -> None:
    agent = trainer.agent
    assert isinstance(agent, QLearningAgent)
    assert agent.structure is not None
    grow, level = agent.config.grow, agent.structure.level
    window = grow.window
    returns = [*trainer.returns, *(episode.total for episode in ended)]
    trainer.returns = returns[-window:] if window else []
    if not grow.is_due(trainer.step, level, trainer.returns):
        return
    grid = on_grid(grow.levels, level)
    state: QLearningState = trainer.state.tree
    if not agent.config.heads.hierarchical:  # Where they are, children have parents' values.
        online, target = (interpolated(network, grid) for network in _networks(state))
        state = state._replace(online=online, target=target)
    structure = agent.structure._replace(level=level + 1)
    new = replace(agent, structure=structure)
    trainer.replace_agent(new, state)
    trainer.returns = []
    message = f"{grow.levels[level + 1]} sub-actions per dimension instead of {grow.levels[level]}"
    change = Change(structure.edges, message, [])
    trainer.changes.append(_record(trainer.step, agent.structure, structure, change))


def _change_edges_if_due(trainer: Trainer) -> None:
    agent = trainer.agent
    assert isinstance(agent, QLearningAgent)
    assert agent.structure is not None
    part, now = agent.config.structure, agent.structure
    # Another part of replay than what was there before: after `load`, replay fills up first.
    is_filled = len(trainer.replay) >= agent.config.batch_size
    if not is_filled or not part.is_due(trainer.step, now.stage):
        return
    rng = np.random.default_rng([trainer.seed, trainer.step])
    state: QLearningState = trainer.state.tree

    def explained() -> dict[Vertices, float]:
        observations = trainer.replay.observations(getattr(part, "states", STATES), rng)
        return mean_variances(_networks(state)[0], observations)

    full = agent.config.hypergraph(agent.hypergraph.sizes)
    change = part.next(now, full, explained)
    new, new_state = changed(agent, state, change.edges, rng)
    trainer.replace_agent(new, new_state)
    trainer.changes.append(_record(trainer.step, now, new.structure, change))


def changed(
    agent: QLearningAgent,
    state: QLearningState,
    edges: tuple[Vertices, ...],
    rng: np.random.Generator,
) -> tuple[QLearningAgent, QLearningState]:
    """The agent with other hyperedges, and its state with all that the new ones can hold.

    The means that Adam and RMSProp remember move with the heads; any other optimiser starts anew.
    """
    assert agent.structure is not None
    hypergraph = Hypergraph(agent.hypergraph.sizes, edges)
    networks = _networks(state)
    width = max(needed_width(networks[0].blocks, hypergraph), agent.structure.width)
    structure = agent.structure._replace(
        edges=hypergraph.edges, width=width, stage=agent.structure.stage + 1
    )
    seed = int(rng.integers(2**63))  # Both networks get the same new units.
    online, target = (
        restructured(network, hypergraph, rng=np.random.default_rng(seed), width=width)
        for network in networks
    )
    optimiser = _optimiser_state(agent.config.optimiser, state.optimiser, online)
    new = replace(agent, hypergraph=hypergraph, structure=structure)
    return new, state._replace(online=online, target=target, optimiser=optimiser)


def _networks(state: QLearningState) -> tuple[QNetwork, QNetwork]:
    """The online and the target network, which are no ensembles where anything changes."""
    assert isinstance(state.online, QNetwork)
    assert isinstance(state.target, QNetwork)
    return state.online, state.target


def _optimiser_state(optimiser: Any, state: Any, online: QNetwork) -> Any:
    rule = {Adam: ADAM, RMSProp: RMSPROP}.get(type(optimiser))
    if rule is None:
        return as_optimiser(optimiser).init(online)
    return Moments(
        state.updates,
        moved_moments(state.mean, online, power=1, fill=0.0),
        moved_moments(state.square, online, power=2, fill=rule.first_square),
    )


@jax.jit
def _outputs(network: QNetwork, observations: Any) -> Any:
    return jax.vmap(network.outputs)(observations)


def mean_variances(network: QNetwork, observations: NDArray[Any]) -> dict[Vertices, float]:
    """The variance of Q over joint actions that each set of vertices explains, over states."""
    hypergraph = network.hypergraph
    scale = np.asarray(network.mixer.weights(hypergraph.num_edges))[hypergraph.edge_of_output]
    even, total, count = uniform(hypergraph), dict[Vertices, float](), 0
    for first in range(0, len(observations), CHUNK):
        outputs = np.asarray(_outputs(network, observations[first : first + CHUNK]), np.float64)
        form = canonical(hypergraph, scale * outputs, even)
        for part, each in variances(form, even).items():
            total[part] = total.get(part, 0.0) + float(each.sum())
        count += outputs[..., 0].size
    return {part: each / count for part, each in total.items()}


def _record(step: int, before: Structure, after: Any, change: Change) -> dict[str, Any]:
    """What is stored about a change."""
    old, new = set(before.edges), set(after.edges)
    return {
        "step": step,
        "message": f"step {step:,}: {change.message}",
        "edges": [list(edge) for edge in after.edges],
        "added": [list(edge) for edge in after.edges if edge not in old],
        "dropped": [list(edge) for edge in before.edges if edge not in new],
        "shares": change.shares,
    }


def state_of(trainer: Trainer) -> dict[str, Any]:
    """What a checkpoint stores of the structure; nothing where it is fixed."""
    structure = getattr(trainer.agent, "structure", None)
    if structure is None:
        return {}
    return {
        "structure": structure.as_dict() | {"changes": trainer.changes, "returns": trainer.returns}
    }


def state_like(trainer: Trainer) -> dict[str, Any]:
    """What a stored structure looks like; see `hyperaction.runs.state`."""
    like = STRUCTURE_LIKE | {"changes": [dict, ...], "returns": [0.0, ...]}
    return {"structure": like} if state_of(trainer) else {}


def adopt(trainer: Trainer, state: Any) -> None:
    """Gives a trainer's agent the hyperedges of a checkpoint, before its arrays are loaded."""
    agent = trainer.agent
    if not isinstance(agent, QLearningAgent) or agent.structure is None:
        return
    stored: Any = state.get("structure") if isinstance(state, dict) else None
    check_like(stored, state_like(trainer)["structure"], "state/trainer/structure")
    structure = Structure.from_dict(stored)
    check_size(structure, agent.hypergraph.sizes, state["agent"])
    trainer.changes, trainer.returns = list(stored["changes"]), list(stored["returns"])
    if structure == agent.structure:
        return
    sizes, shape = agent.hypergraph.sizes, agent.observation_shape
    new = agent.config.build(sizes, shape, structure, agent.layout)
    template = jax.eval_shape(new.init, jax.random.key(0))
    zeros = jax.tree.map(lambda leaf: jax.numpy.zeros(leaf.shape, leaf.dtype), template)
    trainer.replace_agent(new, zeros)
