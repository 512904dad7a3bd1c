"""Values that are no mix of hyperedges' tables: best actions are looked for, not worked out."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from hyperaction.constraints import Constraints
from hyperaction.errors import SettingError
from hyperaction.maximise import allowed_action, black_box
from hyperaction.maximise.extension import Extension, extension
from hyperaction.maximise.masks import as_mask
from hyperaction.networks.values import (
    ENUMERATION_LIMIT,
    AbstractQFunction,
    Candidates,
    Mask,
)

SEARCHES = ("enumeration", "sampling")
"""The ways that take any function of actions."""


class AbstractSearchedNetwork(AbstractQFunction):
    """Values as a function of an action that can only be evaluated.

    Its best action is the best of all where there are few, else the best that sampling finds.
    """

    unexplained: eqx.AbstractClassVar[str]
    """Why hyperedges cannot be said to contribute to values."""
    way: eqx.AbstractVar[str | None]
    """One of `SEARCHES`; by default by the number of joint actions."""

    @abstractmethod
    def features(self, observation: Any) -> Any:
        """What every action's value in this state follows from: a pytree of arrays."""

    @abstractmethod
    def values_of(self, features: Any, actions: Int[Any, "n vertices"]) -> Float[Array, " n"]:
        """The values of several actions of one state."""

    @property
    def takes_candidates(self) -> bool:
        """Whether best actions are sampled."""
        if self.way is None:
            return self.hypergraph.num_actions > black_box.FEW
        return self.way == "sampling"

    def maximisation(self, constraints: Constraints | None = None) -> str:
        """How best actions are found, and why."""
        if self.takes_candidates:
            return "sampling (approximate): values are not mixed from hyperedges' tables"
        return "enumeration (exact): values of all joint actions are computed"

    def check_way(self) -> None:
        """Refuses a way that cannot find this network's best actions."""
        if self.way is None:
            return
        if self.way not in SEARCHES:
            raise SettingError(
                f"`maximise` {self.way}: these values are not mixed from hyperedges' tables, and "
                f"are maximised by {' or '.join(SEARCHES)}"
            )
        if self.way == "enumeration":
            try:
                black_box.check_all_fit(self.hypergraph)
            except ValueError as error:
                raise SettingError(f"`maximise` {error}") from None

    def __call__(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, ""]:
        """The value of an action in this state."""
        return self.values_of(self.features(observation), jnp.asarray(action)[None])[0]

    def values(self, observation: Any, action: Int[Any, " vertices"]) -> Float[Array, " critics"]:
        """The value of an action, of one critic."""
        return self(observation, action)[None]

    def max(
        self, observation: Any, *, mask: Mask = None, candidates: Candidates = None
    ) -> Float[Array, ""]:
        """The value of the best action, allowed by the mask, in this state."""
        features = self.features(observation)
        action, is_allowed = self._search(features, mask, candidates)
        return jnp.where(is_allowed, self.values_of(features, action[None])[0], -jnp.inf)

    def greedy(
        self, observation: Any, *, mask: Mask = None, candidates: Candidates = None
    ) -> Int[Array, " vertices"]:
        """The best action, allowed by the mask, in this state."""
        features = self.features(observation)
        action, is_allowed = self._search(features, mask, candidates)
        usable = is_allowed & jnp.isfinite(self.values_of(features, action[None])[0])
        return jnp.where(usable, action, -1)

    def q_values(
        self, observation: Any, *, limit: int = ENUMERATION_LIMIT
    ) -> Float[Array, " actions"]:
        """The values of all joint actions, the last vertex changing fastest; for small spaces."""
        self._check_listable(limit)
        return self.values_of(self.features(observation), self.hypergraph.all_actions())

    def _search(
        self, features: Any, mask: Mask, candidates: Candidates
    ) -> tuple[Int[Array, " vertices"], Bool[Array, ""]]:
        """The best action that was found, and whether it is allowed."""
        mask = as_mask(self.hypergraph, mask)
        extended = extension(self.hypergraph, None if mask is None else mask.constraints)
        entries = extended.entries(None if mask is None else mask.rows, ())
        if candidates is not None:
            candidates = jnp.asarray(candidates).astype(jnp.int32)
        drawn = black_box.draw(self.hypergraph) if self.takes_candidates else None
        if mask is not None and drawn is not None:
            start = allowed_action(mask)[None]
            candidates = start if candidates is None else jnp.concatenate([candidates, start])
        network, features = jax.lax.stop_gradient((self, features))
        action = _best(extended)(network, features, entries, candidates, drawn)
        fine = True if entries is None else extended.allows(entries, action)
        return action, jnp.asarray(fine)


@lru_cache(maxsize=64)
def _best(extended: Extension) -> Any:
    """Finds the best action of one state; of a batch, state by state, which fits in memory."""

    @jax.custom_batching.sequential_vmap  # type: ignore[untyped-decorator]
    def best(
        network: AbstractSearchedNetwork,
        features: Any,
        entries: Bool[Array, " entries"] | None,
        candidates: Int[Array, "n vertices"] | None,
        drawn: Int[Array, "samples vertices"] | None,
    ) -> Int[Array, " vertices"]:
        def values(actions: Int[Array, "n vertices"]) -> Float[Array, " n"]:
            return network.values_of(features, actions)

        if drawn is None:
            return black_box.best_of_all(extended, values, entries=entries)
        seed = jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(features)])
        return black_box.best_of_sample(
            extended, values, drawn, seed, entries=entries, candidates=candidates
        )

    return best
