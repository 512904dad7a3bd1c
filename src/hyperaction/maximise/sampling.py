"""The maximum over a sampled set of actions, for mixers that nothing better is known for."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int

from hyperaction.maximise.base import AbstractWay, Problem, Solution
from hyperaction.maximise.black_box import best_of_sample, changes_of, draw, with_start
from hyperaction.maximise.cost import Rate
from hyperaction.maximise.extension import Extension


class Sampling(AbstractWay):
    """Joint proposals, drawn evenly, then proposals vertex by vertex around the best so far.

    Candidates, such as the actions seen in a batch, are looked at too.
    """

    name: ClassVar[str] = "sampling"
    rate: ClassVar[Rate] = Rate(4.0)
    samples: int = eqx.field(static=True)
    rounds: int = eqx.field(static=True)

    @property
    def exact(self) -> bool:
        return False

    def solve(self, problem: Problem) -> Solution:
        base = problem.extension.base
        drawn = draw(base, self.samples)
        given = problem.candidates
        if given is not None:
            given = given[:, : base.num_vertices]

        def best(
            outputs: Float[Array, " outputs"],
            entries: Array | None,
            state: Array | None,
            start: Array | None,
        ) -> Int[Array, " vertices"]:
            def values(actions: Int[Array, "n vertices"]) -> Float[Array, " n"]:
                representations = base.representation(outputs, actions)
                return jax.vmap(problem.mixer, in_axes=(0, None))(representations, state)

            return best_of_sample(
                problem.extension,
                values,
                drawn,
                outputs,
                entries=entries,
                candidates=with_start(given, start),
                rounds=self.rounds,
            )

        per_state = (problem.outputs, problem.mask, problem.state, problem.start)
        actions = jax.lax.map(lambda one: best(*one), per_state)
        return Solution(problem.extension.complete(actions))


class Exchanging(Sampling):
    """Coordinate ascent where vertices are counted: two may change at once, so that counts stay."""

    name: ClassVar[str] = "ascent"


def sampling_cost(extended: Extension, samples: int, rounds: int) -> float:
    """Every action that is looked at looks at every hyperedge."""
    looks = samples + rounds * (1 + len(changes_of(extended)))
    return float(looks * extended.hypergraph.num_edges)
