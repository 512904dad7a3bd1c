"""Exact ways against brute force and another solver."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph
from hyperaction.bench.maximise import toulbar_optima
from hyperaction.bench.treewidth import body
from tests.examples import examples
from tests.maximise.problems import (
    KINDS,
    assert_best,
    given_mask,
    plan,
    random_mask,
    slow_allowed,
)
from tests.strategies import (
    NEEDS_KERNEL,
    hypergraphs,
    outputs_for,
)

EXACT = [
    *itertools.product([None, "elimination", "components"], KINDS),
    ("enumeration", "jax"),
]


@pytest.mark.parametrize(("way", "kind"), EXACT)
@settings(max_examples=examples(5))
@given(
    hypergraph=hypergraphs(),
    seed=st.integers(0, 99),
    scale=st.sampled_from([1.0, 1e6, 1e-6]),
    share=st.sampled_from([0.95, 0.6, 0.3]),
)
def test_exact_ways_equal_brute_force_with_and_without_masks_on_hyperedges(
    kind, way, hypergraph, seed, scale, share
):
    outputs = outputs_for(hypergraph, (6,), seed)
    mask = random_mask(hypergraph, 6, seed, share)
    best = plan(hypergraph, kind=kind, way=way)
    assert best.exact

    @jax.jit
    def everything(outputs, mask):
        whole = (
            best.value_and_action(outputs),
            best.argmax(outputs),
            best.max(outputs),
            best.bounded(outputs).upper_bound,
        )
        return whole, best.value_and_action(outputs, mask=given_mask(hypergraph, mask))

    for scaled in (outputs * np.float32(scale), outputs):
        whole, masked = jax.tree.map(np.asarray, everything(scaled, mask))
        (values, actions), argmax, largest, bounds = whole
        assert_best(hypergraph, scaled, values, actions)
        np.testing.assert_array_equal(argmax, actions)
        np.testing.assert_array_equal(largest, values)
        np.testing.assert_array_equal(bounds, values)
    allowed = slow_allowed(hypergraph, mask)
    assert_best(hypergraph, outputs, *masked, allowed=allowed)


@pytest.mark.parametrize(
    ("hypergraph", "way"),
    [
        (Hypergraph.complete((5,) * 8, 2), None),
        (Hypergraph.complete((4,) * 7, 3), None),
        (body(), None),
        (Hypergraph((3,) * 40, [(v, v + 1) for v in range(39)]), None),
        (Hypergraph((4,) * 25, [(v, v + 1) for v in range(24) if v % 5 < 4]
                    + [(v, v + 5) for v in range(20)]), None),
        pytest.param(Hypergraph.complete((3,) * 14, 2), "branch-and-bound", marks=NEEDS_KERNEL),
        pytest.param(Hypergraph.complete((5,) * 12, 2), "ascent", marks=NEEDS_KERNEL),
    ],
    ids=["ant-r2", "seven-r3", "body-38", "chain-40", "grid-5x5", "bnb-14", "ascent-12"],
)  # fmt: skip
def test_large_problems_agree_with_another_exact_solver(hypergraph, way):
    outputs = outputs_for(hypergraph, (3,), 4) / 10
    values = plan(hypergraph, way=way).max(outputs)
    _, expected = toulbar_optima(hypergraph, outputs)
    np.testing.assert_allclose(values, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("edges", "vertices", "largest_cost"),
    [
        ([(v, v + 1) for v in range(39)], 40, 3_000),
        ([(0, v) for v in range(1, 40)], 40, 3_000),
        ([((v - 1) // 2, v) for v in range(1, 40)], 40, 3_000),
        ([(v, (v + 1) % 40, (v + 2) % 40) for v in range(40)], 40, 300_000),
    ],
    ids=["chain", "star", "tree", "ring of triples"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_hypergraphs_of_forty_vertices_cost_little(edges, vertices, largest_cost, kind):
    hypergraph = Hypergraph((5,) * vertices, edges)
    best = plan(hypergraph, kind=kind)
    assert best.exact
    assert best.name == "elimination"
    assert best.cost <= largest_cost


@NEEDS_KERNEL
def test_both_eliminations_find_the_same_on_sparse_hypergraphs():
    edges = [(v, (v + 1) % 12, (v + 2) % 12) for v in range(12)] + [(3, 9)]
    hypergraph = Hypergraph((3, 2, 4) * 4, edges)
    outputs = outputs_for(hypergraph, (40,), 2)
    found = [plan(hypergraph, kind=kind).value_and_action(outputs) for kind in KINDS]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_one_large_table_is_maximised_exactly():
    for sizes in ((5,) * 9, (2,) * 21):
        best = plan(Hypergraph.of_orders(sizes, (-1,)))
        assert best.exact
    outputs = np.zeros((2, 2**21), np.float32)
    outputs[[0, 1], [77, 2**20 + 5]] = 1.0
    actions = best.argmax(outputs)
    np.testing.assert_array_equal(
        np.ravel_multi_index(np.asarray(actions).T, sizes), [77, 2**20 + 5]
    )


def best_of_tree(hypergraph, parents, outputs):
    """The largest sum of the tables of vertices and of parents with children, leaves first.

    Children come after their parents.
    """
    tables = {
        edge: outputs[part].astype(float).reshape(hypergraph.table_shape(edge))
        for edge, part in zip(hypergraph.edges, hypergraph.slices, strict=True)
    }
    worth = [tables[vertex,].copy() for vertex in range(len(parents))]
    for vertex in reversed(range(1, len(parents))):
        pair = tables[parents[vertex], vertex]  # One row for each sub-action of the parent.
        worth[parents[vertex]] += [max(row + worth[vertex]) for row in pair]
    return max(worth[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("legs", [1, 4, 37])
def test_a_tree_of_38_vertices_is_maximised_exactly(kind, legs):
    parents = [-1, *(max(0, vertex - legs) for vertex in range(1, 38))]
    hypergraph = Hypergraph.from_tree((5,) * 38, parents)
    best = plan(hypergraph, kind=kind)
    assert (best.name, best.exact, best.width) == ("elimination", True, 1)
    outputs = np.random.default_rng(legs).normal(size=(3, hypergraph.num_outputs))
    values, actions = best.value_and_action(outputs.astype(np.float32))
    expected = [best_of_tree(hypergraph, parents, one) for one in outputs]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    chosen = hypergraph.representation(outputs, np.asarray(actions)).sum(axis=-1)
    np.testing.assert_allclose(chosen, expected, rtol=1e-5)
