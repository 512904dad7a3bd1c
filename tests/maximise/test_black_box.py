"""The best action of a function that can only be evaluated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import Hypergraph
from hyperaction.maximise import black_box
from hyperaction.maximise.extension import extension
from tests.maximise.problems import slow_allowed

GRAPH = Hypergraph((3, 2, 4), [(0, 1), (1, 2), (0,)])
PLAIN = extension(GRAPH)


def of_table(table):
    return lambda actions: table[tuple(actions.T)]


@jax.jit
def sampled(table, mask, candidates):
    found = of_table(table)
    drawn = black_box.draw(GRAPH, samples=8)
    return black_box.best_of_sample(
        PLAIN, found, drawn, table.ravel(), entries=mask, candidates=candidates
    )


@pytest.mark.parametrize("chunk", [5, 100])
def test_the_best_of_all_is_the_best_that_is_allowed(monkeypatch, chunk):
    monkeypatch.setattr(black_box, "FEW", chunk)
    random = np.random.default_rng(0)
    best = jax.jit(lambda table, mask: black_box.best_of_all(PLAIN, of_table(table), entries=mask))
    for _ in range(6):
        table = jnp.asarray(random.normal(size=GRAPH.sizes))
        mask = random.random((1, GRAPH.num_outputs)) < 0.7
        legal = [a for a in np.ndindex(*GRAPH.sizes) if slow_allowed(GRAPH, mask)(0, a)]
        assert tuple(best(table, None).tolist()) == np.unravel_index(table.argmax(), GRAPH.sizes)
        if legal:
            expected = max(legal, key=lambda action: table[action])
            assert tuple(best(table, mask[0]).tolist()) == expected


def test_a_sampled_action_is_allowed_and_no_candidate_is_better():
    random = np.random.default_rng(1)
    for _ in range(20):
        table = jnp.asarray(random.normal(size=GRAPH.sizes).astype(np.float32))
        mask = random.random((1, GRAPH.num_outputs)) < 0.8
        legal = [a for a in np.ndindex(*GRAPH.sizes) if slow_allowed(GRAPH, mask)(0, a)]
        candidates = jnp.asarray(random.integers(GRAPH.sizes, size=(5, 3)).astype(np.int32))
        found = tuple(sampled(table, mask[0], candidates).tolist())
        assert (found in legal) == bool(legal)
        for other in map(tuple, candidates.tolist()):
            assert other not in legal or table[other] <= table[found]


def test_the_best_candidate_is_taken_where_samples_cannot_find_it():
    spike = jnp.zeros(GRAPH.sizes).at[2, 1, 3].set(1.0).at[2, 1, :3].set(-1.0)
    spike = spike.at[:2, 1, 3].set(-1.0).at[2, 0, 3].set(-1.0)
    everywhere = jnp.asarray(GRAPH.all_actions())
    mask = np.ones(GRAPH.num_outputs, bool)
    assert tuple(sampled(spike, mask, everywhere).tolist()) == (2, 1, 3)
