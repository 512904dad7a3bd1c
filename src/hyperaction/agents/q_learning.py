"""The Q-learning agent: DQN, HGQN, both Rainbows and branching DQN, by its configuration."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray
from numpy.typing import NDArray

from hyperaction.agents.batch import Batch, UpdateInfo
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.exploration import Explorer
from hyperaction.agents.growth import on_grid, on_level
from hyperaction.agents.joint_actions import JointActions
from hyperaction.agents.objectives import AbstractObjective, Losses
from hyperaction.agents.optimisers import as_optimiser
from hyperaction.agents.restructure import check_fixed_sum
from hyperaction.agents.structure import Structure
from hyperaction.agents.targets import with_update
from hyperaction.agents.value_network import value_network
from hyperaction.constraints import Mask
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.layout import Layout
from hyperaction.networks import AbstractQFunction, AbstractValueNetwork
from hyperaction.networks.normalised import with_statistics


class QLearningState(NamedTuple):
    """All that an agent learns and remembers, in one pytree."""

    online: AbstractQFunction
    target: AbstractQFunction
    optimiser: Any
    memory: Any
    """What the objective remembers."""


class QLearningAgent(eqx.Module):
    """The functions of a Q-learning agent; its state is passed in and out."""

    config: QLearningConfig = eqx.field(static=True)
    hypergraph: Hypergraph = eqx.field(static=True)
    observation_shape: tuple[int, ...] = eqx.field(static=True)
    structure: Structure | None = eqx.field(static=True, default=None)
    """The hyperedges of now, where they change."""
    layout: Layout | None = eqx.field(static=True, default=None)
    """What observations hold, where they are images and numbers together."""

    @property
    def width(self) -> int:
        """Hidden units of each head."""
        if self.structure is not None:
            return self.structure.width
        return self.config.heads.width_of(self.hypergraph)

    @property
    def action_length(self) -> int:
        """A sub-action for every vertex."""
        return self.hypergraph.num_vertices

    @property
    def action_dtype(self) -> type[np.generic]:
        """Sub-actions are integers."""
        return np.int32

    def check_masks(self) -> None:
        """Refuses action masks, if the agent cannot learn under them."""
        if not self.config.objective.takes_masks:
            raise SettingError(
                "`munchausen` needs the probabilities of actions that were taken, and with action "
                "masks what was allowed then is not stored"
            )

    def explorer(self, num_envs: int, rng: np.random.Generator) -> Explorer:
        """The exploration for so many environments."""
        return Explorer(
            self.config.exploration,
            num_envs,
            JointActions(self.hypergraph, self._grid),
            self.config.learning_starts,
            rng,
        )

    @property
    def _grid(self) -> NDArray[np.bool_] | None:
        """The sub-actions of each vertex that may be taken, where not all may yet."""
        levels = self.config.grow.levels
        if self.structure is None or self.structure.level + 1 >= len(levels):
            return None
        return on_grid(levels, self.structure.level)

    def _allowed(self, mask: Mask | None, *batch: int) -> Mask | None:
        """A mask, or several, with what the level leaves of it."""
        grid = self._grid
        return mask if grid is None else on_level(mask, self.hypergraph.sizes, grid, batch)

    def init(self, key: PRNGKeyArray) -> QLearningState:
        """The initial state."""
        online = value_network(self, key)
        if self.config.structure.changes:
            assert isinstance(online, AbstractValueNetwork)
            check_fixed_sum(online)
        # A copy: updates donate the state, and a buffer can be donated once.
        target = jax.tree.map(jnp.copy, online)
        optimiser = as_optimiser(self.config.optimiser).init(online)
        return QLearningState(online, target, optimiser, self._objective.init(self.hypergraph))

    @property
    def _objective(self) -> AbstractObjective:
        objective: AbstractObjective = self.config.objective
        return objective

    def acting(self, state: QLearningState) -> AbstractQFunction:
        """The network whose best actions are taken."""
        return state.target if self.config.act_by == "target" else state.online

    def act(
        self,
        state: QLearningState,
        observation: Num[Any, "*shape"],
        mask: Mask | None = None,
        inputs: Any = None,
    ) -> Int[Array, " vertices"]:
        """The greedy action; with inputs, what the exploration computes from them."""
        mask = self._allowed(mask)
        if inputs is None:
            return self.acting(state).greedy(observation, mask=mask)
        if self.config.exploration.of_objective:
            inputs = inputs | {"temperature": self.config.objective.temperature_of(state.memory)}
        action: Int[Array, " vertices"] = self.config.exploration.act(
            self.acting(state), observation, mask, inputs
        )
        return action

    def update(self, state: QLearningState, batch: Batch) -> tuple[QLearningState, UpdateInfo]:
        """One update on a batch."""
        batch = batch._replace(next_mask=self._allowed(batch.next_mask, len(batch.reward)))
        state = state._replace(memory=self._objective.observe(state.memory, batch))
        (loss, (losses, statistics)), gradient = jax.value_and_grad(self._loss, has_aux=True)(
            state.online, state, batch
        )
        optimiser = as_optimiser(self.config.optimiser)
        online, optimiser_state = optimiser.update(state.online, gradient, state.optimiser)
        memory = self._objective.update(state.memory, statistics)
        before, state = state, QLearningState(online, state.target, optimiser_state, memory)
        if with_update(self.config.target):
            state = self.update_target(state)
        if self.config.normalise_observations:
            known = before.online.state_network.updated(batch.observation)
            networks = [with_statistics(network, known) for network in (state.online, state.target)]
            state = state._replace(online=networks[0], target=networks[1])
        return state, UpdateInfo(loss, losses, statistics)

    def update_target(self, state: QLearningState) -> QLearningState:
        """The target network follows the online network."""
        return state._replace(target=self.config.target.update(state.online, state.target))

    def _loss(
        self, online: AbstractQFunction, state: QLearningState, batch: Batch
    ) -> tuple[Float[Array, ""], tuple[Float[Array, " batch"], dict[str, Float[Array, ""]]]]:
        candidates = batch.action if online.takes_candidates else None

        def of_one(transition: Batch) -> Losses:
            transition = transition._replace(candidates=candidates)
            return self._objective.losses(online, state.target, transition, state.memory)

        each = jax.vmap(of_one)(batch._replace(weight=None))
        losses = jax.vmap(jnp.mean)(each.losses)
        weighted = losses if batch.weight is None else batch.weight * losses
        return weighted.mean(), (losses, jax.tree.map(jnp.mean, each.statistics))
