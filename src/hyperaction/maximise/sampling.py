"""The maximum over a sampled set of actions, for mixers that nothing better is known for."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int

from hyperaction.maximise.base import AbstractWay, Problem, Solution
from hyperaction.maximise.black_box import best_of_sample, draw


class Sampling(AbstractWay):
    """Joint proposals, drawn evenly, then proposals vertex by vertex around the best so far.

    Candidates, such as the actions seen in a batch, are looked at too.
    """

    name: ClassVar[str] = "sampling"
    samples: int = eqx.field(static=True)
    rounds: int = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return False

    def solve(self, problem: Problem) -> Solution:
        hypergraph = problem.hypergraph
        drawn = draw(hypergraph, self.samples)

        def best(
            outputs: Float[Array, " outputs"], mask: Array | None, state: Array | None
        ) -> Int[Array, " vertices"]:
            def values(actions: Int[Array, "n vertices"]) -> Float[Array, " n"]:
                representations = hypergraph.representation(outputs, actions)
                return jax.vmap(problem.mixer, in_axes=(0, None))(representations, state)

            return best_of_sample(
                hypergraph,
                values,
                drawn,
                outputs,
                mask=mask,
                candidates=problem.candidates,
                rounds=self.rounds,
            )

        per_state = (problem.outputs, problem.mask, problem.state)
        return Solution(jax.lax.map(lambda one: best(*one), per_state))
