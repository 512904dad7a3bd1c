"""The network of a Q-learning agent, made from its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from hyperaction.errors import SettingError
from hyperaction.maximise.cost import PER_STATE, SECONDS, Budget, training_budget
from hyperaction.networks import (
    AbstractQFunction,
    AbstractValueNetwork,
    ActionInNetwork,
    Ensemble,
    LogNetwork,
    QNetwork,
)
from hyperaction.networks.combined import Unpacked
from hyperaction.networks.normalised import Normalised

if TYPE_CHECKING:
    from hyperaction.agents.q_learning import QLearningAgent


def value_network(agent: QLearningAgent, key: PRNGKeyArray) -> AbstractQFunction:
    """The agent's network before it has learned anything."""
    network = _network(agent, key)
    if not agent.config.normalise_observations:
        return network
    if agent.layout is not None:
        raise SettingError(
            f"`normalise_observations` is for vectors, not for observations with {agent.layout}"
        )
    normalised = Normalised(network.state_network, agent.observation_shape)
    return eqx.tree_at(lambda network: network.state_network, network, normalised)


def _network(agent: QLearningAgent, key: PRNGKeyArray) -> AbstractQFunction:
    config = agent.config
    mapping = config.objective.mapping(config.discount)
    if not (config.heads.action_in or mapping):
        mixed = _mixed(agent, key, _budget(agent, key))
        _check_maximiser(agent, mixed)
        return mixed
    state_key, network_key = jax.random.split(key)
    state_network = _state_network(agent, state_key)
    way = config.maximise or None
    if mapping:
        return LogNetwork(
            agent.hypergraph,
            state_network,
            mapping,
            mixer=config.mixer,
            width=agent.width,
            way=way,
            key=network_key,
        )
    width = config.heads.total_width
    return ActionInNetwork(agent.hypergraph, state_network, width=width, way=way, key=network_key)


def _state_network(agent: QLearningAgent, key: PRNGKeyArray) -> Any:
    network, layout = agent.config.network, agent.layout
    if layout is None:
        return network(agent.observation_shape, key=key)
    if hasattr(network, "of_layout"):
        return network.of_layout(layout, key=key)
    return Unpacked(network((layout.length,), key=key), layout)


def _budget(agent: QLearningAgent, key: PRNGKeyArray) -> Budget:
    """What finding best actions exactly may take."""
    config = agent.config
    if any(
        getattr(part, "needs_soft_values", False) for part in (config.objective, config.exploration)
    ):
        # Nothing approximate would do.
        return Budget(config.budget * SECONDS, PER_STATE)
    network = jax.eval_shape(lambda key: _mixed(agent, key, SECONDS), key)
    weights = sum(leaf.size for leaf in jax.tree.leaves(network))
    return training_budget(config.budget, weights, config.batch_size, config.train_frequency)


def _mixed(
    agent: QLearningAgent, key: PRNGKeyArray, budget: float | Budget
) -> AbstractValueNetwork:
    """A network whose values are mixed from hyperedges', or several."""
    state_key, network_key = jax.random.split(key)
    config, heads = agent.config, agent.config.heads

    def state_network(key: PRNGKeyArray) -> Any:
        return _state_network(agent, key)

    def critic(state_network: Any, key: PRNGKeyArray) -> QNetwork:
        return QNetwork(
            agent.hypergraph,
            state_network,
            mixer=config.mixer,
            width=agent.width,
            dueling=heads.dueling,
            value_width=heads.total_width,
            quantiles=config.objective.quantiles,
            levels=config.grow.levels if heads.hierarchical else (),
            way=config.maximise or None,
            budget=budget,
            key=key,
        )

    def one() -> QNetwork:
        return critic(state_network(state_key), network_key)

    critics, is_chosen = config.num_critics, heads.critics > 0
    # Several have a mean that can be maximised under weighted sums only.
    if critics == 1 or not (is_chosen or jax.eval_shape(one).mixer.affine):
        return one()
    return Ensemble(critic, state_network, critics=critics, shared=heads.shared_state, key=key)


def _check_maximiser(agent: QLearningAgent, network: AbstractValueNetwork) -> None:
    """Refuses a way to maximise that the hyperedges, mixer or objective do not allow."""
    way, is_soft = agent.config.maximise, agent.config.objective.needs_soft_values
    if not (way or is_soft):
        return
    try:
        maximiser = network.maximiser
        if is_soft:
            maximiser.check_soft()
    except ValueError as error:
        part = f"`maximise` {getattr(way, 'name', way)}" if way else "`objective` soft"
        raise SettingError(f"{part}: {error}") from None
