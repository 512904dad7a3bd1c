"""Assembles an agent for an environment, for commands and for Python alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from hyperaction.agents.config import AgentConfig
from hyperaction.agents.structure import Structure
from hyperaction.constraints import Constraints
from hyperaction.envs.action_maps import Discretised, leaves
from hyperaction.envs.vector import Environments
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import SettingError
from hyperaction.networks import AbstractQFunction
from hyperaction.training.memory import check_agent_fits, check_fits

if TYPE_CHECKING:
    from hyperaction.agents.ddpg import DDPGAgent
    from hyperaction.agents.q_learning import QLearningAgent


def _largest(agent: Any, sizes: Sequence[int]) -> Any:
    """The agent with all hyperedges that it will ever have."""
    structure = getattr(agent, "structure", None)
    if structure is None:
        return agent
    edges = dict.fromkeys((*structure.edges, *agent.config.hypergraph(sizes).edges))
    largest = structure._replace(edges=tuple(edges))
    return agent.config.build(sizes, agent.observation_shape, largest, agent.layout)


def assemble(
    config: AgentConfig, env: Environments | Factored, structure: Structure | None = None
) -> tuple[QLearningAgent | DDPGAgent, str]:
    """The agent for an environment, and what there is to say about the memory that it takes.

    What does not fit the environment or this machine is refused.

    Args:
        config: The agent's configuration.
        env: The environment.
        structure: The hyperedges that a stored agent had, where they change.
    """
    sizes, layout = env.actions.sizes, env.observations.layout
    agent = config.build(sizes, env.observation_shape, structure, layout)
    # The network must fit the observations.
    state = jax.eval_shape(_largest(agent, sizes).init, jax.random.key(0))
    check_exploration(config, env, state.online)
    check_agent_fits([(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)])
    return agent, check_fits(config, env, agent.action_length)


def maximisation(state: Any, constraints: Constraints | None) -> str:
    """How an agent finds its best joint actions; nothing for agents that need not."""
    network = getattr(state, "online", None)
    return network.maximisation(constraints) if isinstance(network, AbstractQFunction) else ""


def check_exploration(config: AgentConfig, env: Environments | Factored, network: Any) -> None:
    """Refuses an exploration that fits neither the environment's actions nor the network."""
    exploration = config.exploration
    in_order = all(isinstance(leaf, Discretised) for leaf in leaves(env.actions))
    if exploration.ordinal and not in_order:
        other = "ou or gaussian" if config.continuous else "epsilon-greedy or extended"
        raise SettingError(
            f"`exploration` ordinal adds noise to a Box action space in bins, whose sub-actions "
            f"are numbers in order, and these actions are not; choose {other}"
        )
    exploration.check_network(network)
