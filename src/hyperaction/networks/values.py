"""What networks of action values share: greedy actions, soft values, lists of all values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hyperaction.constraints import Constraints
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import Budget, Maximiser, maximiser
from hyperaction.maximise.base import AbstractWay
from hyperaction.mixers import AbstractMixer

ENUMERATION_LIMIT = 100_000
"""The most joint actions that `q_values` lists by default."""

Mask = Any
"""What is allowed, in any form that a maximiser takes; None where all is."""
Candidates = Int[ArrayLike, "n vertices"] | None
Temperature = Float[ArrayLike, ""]


class Evaluation(NamedTuple):
    """A state's values: those of the hyperedges, which are mixed, and what is added to the mix."""

    outputs: Float[Array, " outputs"]
    state: Float[Array, " features"] | None
    """What the mixer takes beside them."""
    baseline: Float[Array, ""] | float
    """The same for every action."""


class AbstractQFunction(eqx.Module):
    """Values of joint actions, however they come about: what an agent needs of a network.

    Written for one observation and one action; batch with `jax.vmap`. Masks are true where allowed,
    in any form that a maximiser takes. Where values are not finite, or nothing
    is allowed, the best action is -1 throughout.
    """

    state_network: eqx.AbstractVar[Any]
    """From an observation to features."""
    hypergraph: eqx.AbstractVar[Hypergraph]

    @abstractmethod
    def __call__(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, ""]:
        """The value of an action in this state."""

    @abstractmethod
    def values(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " critics"]:
        """The value of an action in this state, as each critic estimates it."""

    @property
    @abstractmethod
    def takes_candidates(self) -> bool:
        """Whether best actions are looked for among candidates too."""

    @abstractmethod
    def maximisation(self, constraints: Constraints | None = None) -> str:
        """How best actions are found under constraints that always hold, and why."""

    @abstractmethod
    def max(
        self, observation: Any, *, mask: Mask = None, candidates: Candidates = None
    ) -> Float[Array, ""]:
        """The value of the best action, allowed by the mask, in this state."""

    @abstractmethod
    def greedy(
        self, observation: Any, *, mask: Mask = None, candidates: Candidates = None
    ) -> Int[Array, " vertices"]:
        """The best action, allowed by the mask, in this state."""

    @abstractmethod
    def q_values(
        self, observation: Any, *, limit: int = ENUMERATION_LIMIT
    ) -> Float[Array, " actions"]:
        """The values of all joint actions, the last vertex changing fastest; for small spaces."""

    def _check_listable(self, limit: int) -> None:
        count = self.hypergraph.num_actions
        if count > limit:
            raise ValueError(
                f"there are {count:,} joint actions, more than the {limit:,} that q_values lists; "
                f"`max` and `greedy` need no list, and limit={count} raises the limit"
            )


class AbstractValueNetwork(AbstractQFunction):
    """Values of joint actions that are mixed from the values of hyperedges.

    All but `quantiles` and `values` is about the expected return, of all critics together.
    """

    mixer: eqx.AbstractVar[AbstractMixer]
    way: eqx.AbstractVar[str | AbstractWay | None]
    """How best actions are found, if that is not left to the planner."""
    budget: eqx.AbstractVar[float | Budget]
    """What finding them exactly may take, as `maximiser` takes it."""

    @abstractmethod
    def evaluate(self, observation: Any) -> Evaluation:
        """What every action's value in this state follows from."""

    @abstractmethod
    def quantiles(
        self, observation: Any, action: Int[Any, " vertices"]
    ) -> Float[Array, "critics quantiles"]:
        """The quantiles of an action's return in this state, as each critic estimates them."""

    @property
    def maximiser(self) -> Maximiser:
        """What finds this network's best actions."""
        return maximiser(self.hypergraph, self.mixer, way=self.way, budget=self.budget)

    def maximisation(self, constraints: Constraints | None = None) -> str:
        """How best actions are found, and why."""
        best = self.maximiser
        return (best if constraints is None else best.under(constraints)).explain()

    @property
    def takes_candidates(self) -> bool:
        """Whether sampling was asked for."""
        return bool(getattr(self.way, "name", self.way) == "sampling")

    def outputs(self, observation: Any) -> Float[Array, " outputs"]:
        """All hyperedges' values in this state, side by side."""
        return self.evaluate(observation).outputs

    def max(
        self, observation: Any, *, mask: Mask = None, candidates: Candidates = None
    ) -> Float[Array, ""]:
        """The value of the best action, allowed by the mask, in this state."""
        outputs, state, baseline = self.evaluate(observation)
        best = self.maximiser.max(outputs, mask=mask, state=state, candidates=candidates)
        return best + baseline

    def greedy(
        self, observation: Any, *, mask: Mask = None, candidates: Candidates = None
    ) -> Int[Array, " vertices"]:
        """The best action, allowed by the mask, in this state."""
        outputs, state, _ = self.evaluate(observation)
        return self.maximiser.argmax(outputs, mask=mask, state=state, candidates=candidates)

    def soft(
        self, observation: Any, temperature: Temperature, *, mask: Mask = None
    ) -> Float[Array, ""]:
        """Temperature times the log of the sum of exp(Q / temperature) over all actions."""
        outputs, state, baseline = self.evaluate(observation)
        return self.maximiser.soft(outputs, temperature, mask=mask, state=state) + baseline

    def soft_values(
        self, observation: Any, temperature: Temperature, *, mask: Mask = None
    ) -> Float[Array, " critics"]:
        """The soft value, with each critic's own expectation of Q in place of all critics'."""
        return self.soft(observation, temperature, mask=mask)[None]

    def entropy(
        self, observation: Any, temperature: Temperature, *, mask: Mask = None
    ) -> Float[Array, ""]:
        """The entropy of the Boltzmann distribution of joint actions in this state."""
        outputs, state, _ = self.evaluate(observation)
        return self.maximiser.entropy(outputs, temperature, mask=mask, state=state)

    def log_probability(
        self,
        observation: Any,
        action: Int[Any, " vertices"],
        temperature: Temperature,
        *,
        mask: Mask = None,
    ) -> Float[Array, ""]:
        """The log-probability of an action in the Boltzmann distribution of this state."""
        outputs, state, _ = self.evaluate(observation)
        return self.maximiser.log_probability(outputs, action, temperature, mask=mask, state=state)

    def sample(
        self, observation: Any, temperature: Temperature, key: PRNGKeyArray, *, mask: Mask = None
    ) -> Int[Array, " vertices"]:
        """An action drawn from the Boltzmann distribution of this state."""
        outputs, state, _ = self.evaluate(observation)
        return self.maximiser.sample(outputs, temperature, key, mask=mask, state=state)

    def q_values(
        self, observation: Any, *, limit: int = ENUMERATION_LIMIT
    ) -> Float[Array, " actions"]:
        """The values of all joint actions, the last vertex changing fastest; for small spaces."""
        self._check_listable(limit)
        outputs, state, baseline = self.evaluate(observation)
        representations = self.hypergraph.representation(outputs, self.hypergraph.all_actions())
        return jax.vmap(self.mixer, in_axes=(0, None))(representations, state) + baseline
