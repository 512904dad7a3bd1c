"""An ensemble of Q-networks: several critics as one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.base import AbstractWay
from hyperaction.maximise.cost import Budget
from hyperaction.mixers import Sum
from hyperaction.networks.q_network import QNetwork
from hyperaction.networks.values import AbstractValueNetwork, Evaluation, Mask, Temperature


class Identity(eqx.Module):
    """A state network that gives what it is given."""

    features: int = eqx.field(static=True)

    def __call__(self, observation: Any) -> Any:
        return observation


class Ensemble(AbstractValueNetwork):
    """Several Q-networks, the critics, whose mean is the value of an action.

    The mean of mixes that are affine is again one: its hyperedges' values are the means of the
    critics' weighted ones, which are added. So greedy actions of the mean are found as those of one
    network are.

    Args:
        make: Makes a critic from a state network and a key.
        make_state_network: Makes a state network from a key.
        critics: How many critics.
        shared: One state network for all critics, instead of one each.
    """

    state_network: Callable[[Any], Any]
    """What is done once for all critics."""
    members: QNetwork
    """The critics, stacked: every array has a leading axis of them."""
    mixer: Sum
    hypergraph: Hypergraph = eqx.field(static=True)
    way: str | AbstractWay | None = eqx.field(static=True)
    budget: float | Budget = eqx.field(static=True)
    """Both the critics' own."""

    def __init__(
        self,
        make: Callable[[Any, PRNGKeyArray], QNetwork],
        make_state_network: Callable[[PRNGKeyArray], Any],
        *,
        critics: int,
        shared: bool = True,
        key: PRNGKeyArray,
    ) -> None:
        state_key, key = jax.random.split(key)
        state_network = make_state_network(state_key)
        features = state_network.features
        self.state_network = state_network if shared else Identity(features)

        def member(key: PRNGKeyArray) -> QNetwork:
            own_key, key = jax.random.split(key)
            return make(Identity(features) if shared else make_state_network(own_key), key)

        self.members = jax.vmap(member)(jax.random.split(key, critics))
        self.mixer, self.hypergraph = Sum(), self.members.hypergraph
        self.way, self.budget = self.members.way, self.members.budget
        if not self.members.mixer.affine:
            raise SettingError(
                "`critics` above 1 act by the mean of their values, which only mixers that are "
                "weighted sums allow: sum, mean, order-mean or monotonic-linear"
            )

    def evaluate(self, observation: Any) -> Evaluation:
        """What every action's value in this state follows from."""
        outputs, baselines = self._evaluated(observation)
        return Evaluation(outputs.mean(axis=0), None, baselines.mean())

    def __call__(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, ""]:
        """The mean of the critics' values of an action in this state."""
        return self.values(observation, action).mean()

    def values(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " critics"]:
        """The value of an action in this state, as each critic estimates it."""
        each = self._each(lambda member, state: member(state, action))
        return each(self.members, self.state_network(observation))

    def quantiles(
        self, observation: Any, action: Int[Any, " vertices"]
    ) -> Float[Array, "critics quantiles"]:
        """The quantiles of an action's return in this state, as each critic estimates them."""
        each = self._each(lambda member, state: member.quantiles(state, action)[0])
        return each(self.members, self.state_network(observation))

    def soft_values(
        self, observation: Any, temperature: Temperature, *, mask: Mask = None
    ) -> Float[Array, " critics"]:
        """The soft value, with each critic's own expectation of Q in place of all critics'.

        Actions are drawn by the mean of the critics, as the agent draws them.
        """
        outputs, baselines = self._evaluated(observation)
        mean = outputs.mean(axis=0)
        marginals = self.maximiser.marginals(mean, temperature, mask=mask)
        around = jnp.where(marginals > 0, marginals * (outputs - mean), 0.0).sum(axis=-1)
        return self.maximiser.soft(mean, temperature, mask=mask) + around + baselines

    def critics_outputs(self, observation: Any) -> Float[Array, "critics outputs"]:
        """Each critic's values of all hyperedges, weighted as in its mix."""
        return self._evaluated(observation)[0]

    def _evaluated(
        self, observation: Any
    ) -> tuple[Float[Array, "critics outputs"], Float[Array, " critics"]]:
        """Each critic's weighted values of all hyperedges, and what it adds to their sum."""
        num_edges, edge_of_output = self.hypergraph.num_edges, self.hypergraph.edge_of_output

        def evaluated(member: QNetwork, state: Any) -> tuple[Array, Array]:
            outputs, state, baseline = member.evaluate(state)
            constant = member.mixer(jnp.zeros(num_edges), state)
            return outputs * member.mixer.weights(num_edges)[edge_of_output], baseline + constant

        both: tuple[Array, Array] = self._each(evaluated)(
            self.members, self.state_network(observation)
        )
        return both

    @staticmethod
    def _each(function: Callable[[QNetwork, Any], Any]) -> Callable[[QNetwork, Any], Any]:
        """The function of a critic and the state, for all critics."""

        def each(members: QNetwork, state: Any) -> Any:
            # One after the other in the same program: XLA's batched products take longer.
            count = len(members.blocks.biases)
            alone = (jax.tree.map(operator.itemgetter(n), members) for n in range(count))
            return jax.tree.map(lambda *of: jnp.stack(of), *(function(m, state) for m in alone))

        return each
