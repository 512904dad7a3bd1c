"""Searches and bounds, against brute force and long searches."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, kernels, make_mixer, maximiser
from hyperaction.maximise.search import NO_NODES, Ascent, BranchAndBound, Tabu, structure
from tests.examples import examples
from tests.maximise.problems import assert_best, given_mask, plan, random_mask, slow_allowed
from tests.modules import called, made
from tests.strategies import (
    NEEDS_KERNEL,
    hypergraphs,
    outputs_for,
    slow_values,
)


@NEEDS_KERNEL
@settings(max_examples=examples(6))
@given(hypergraph=hypergraphs(max_vertices=6, max_rank=4), seed=st.integers(0, 99))
def test_branch_and_bound_proves_the_brute_force_maximum(hypergraph, seed):
    outputs = outputs_for(hypergraph, (3,), seed)
    best = plan(hypergraph, way="branch-and-bound")
    mask = random_mask(hypergraph, 3, seed)

    @jax.jit
    def both(outputs, mask):
        masked = best.value_and_action(outputs, mask=given_mask(hypergraph, mask))
        return best.bounded(outputs), masked

    found, masked = jax.tree.map(np.asarray, both(outputs, mask))
    assert_best(hypergraph, outputs, found.value, found.action)
    np.testing.assert_allclose(found.upper_bound, found.value, rtol=1e-5, atol=1e-4)
    assert_best(hypergraph, outputs, *masked, allowed=slow_allowed(hypergraph, mask))


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("ascent", "jax"),
        ("sampling", "jax"),
        pytest.param("ascent", "native", marks=NEEDS_KERNEL),
        pytest.param("branch-and-bound", "native", marks=NEEDS_KERNEL),
    ],
)
@settings(max_examples=examples(4))
@given(hypergraph=hypergraphs(max_vertices=6, max_rank=4), seed=st.integers(0, 99))
def test_bounds_are_never_below_the_maximum_nor_above_the_tables_largest(
    way, kind, hypergraph, seed
):
    outputs = outputs_for(hypergraph, (2,), seed)
    found = plan(hypergraph, kind=kind, way=way, nodes=2).bounded(outputs)
    found = jax.tree.map(np.asarray, found)
    for one, value, bound in zip(outputs, found.value, found.upper_bound, strict=True):
        reference = max(slow_values(hypergraph, one).values())
        assert value <= reference + 1e-4
        assert bound >= reference - 1e-4
        assert bound <= sum(one[part].max() for part in hypergraph.slices) + 1e-3


@NEEDS_KERNEL
@settings(max_examples=examples(6))
@given(
    hypergraph=hypergraphs(max_vertices=6, max_rank=4),
    seed=st.integers(0, 99),
    states=st.sampled_from([1, 3, 20]),
)
def test_searches_that_stop_early_have_the_brute_force_maximum(hypergraph, seed, states):
    """With steps too few for a search to be sure of it, and tables where one entry stands out."""
    outputs = outputs_for(hypergraph, (states,), seed)
    outputs[: states // 2] **= 3
    search = partial(kernels.search, structure=structure(hypergraph), steps=60, sweeps=1)
    found = jax.jit(partial(search, nodes=NO_NODES))(outputs)
    actions, bounds = map(np.asarray, found)
    values = hypergraph.representation(outputs, actions).sum(axis=-1)
    for one, value, bound in zip(outputs, values, bounds, strict=True):
        reference = max(slow_values(hypergraph, one).values())
        assert bound >= reference - 1e-4
        if bound <= value + 1e-4:
            assert abs(value - reference) <= 1e-3


@pytest.mark.parametrize(
    ("way", "kind", "rank"),
    [
        ("ascent", "jax", 3),
        ("sampling", "jax", 2),
        pytest.param("ascent", "native", 2, marks=NEEDS_KERNEL),
        pytest.param("ascent", "native", 4, marks=NEEDS_KERNEL),
    ],
)
def test_approximate_ways_find_most_maxima_of_a_middling_space(way, kind, rank):
    hypergraph = Hypergraph.complete((4, 3, 5, 3, 4, 2), rank)
    outputs = outputs_for(hypergraph, (64,), 2)
    best = plan(hypergraph, way=way, kind=kind)
    assert not best.exact
    values, actions = best.value_and_action(outputs)
    exact = plan(hypergraph).max(outputs)
    assert (np.asarray(values) <= np.asarray(exact) + 1e-3).all()
    assert np.isclose(values, exact, rtol=1e-5).mean() >= (0.6 if way == "sampling" else 0.95)
    mask = random_mask(hypergraph, 64, 2, 0.85)
    masked = jax.jit(lambda o, m: best.max(o, mask=m))(outputs, mask)
    reference = jax.jit(lambda o, m: plan(hypergraph).max(o, mask=m))(outputs, mask)
    assert (np.asarray(masked) <= np.asarray(reference) + 1e-3).all()
    assert np.isclose(masked, reference, rtol=1e-5).mean() >= (0.5 if way == "sampling" else 0.9)
    again = plan(hypergraph, way=way, kind=kind).argmax(outputs)
    np.testing.assert_array_equal(again, actions)


def mixed_orders(seed, sizes=(4, 3, 4, 2, 4, 3, 4, 3, 4, 4), edges=26):
    """Hyperedges of the orders 1 to 4, so tangled that none of the vertices is easy."""
    random = np.random.default_rng(seed)
    chosen = {(vertex, (vertex + 1) % len(sizes)) for vertex in range(len(sizes))}
    while len(chosen) < edges:
        order = random.integers(1, 5)
        chosen.add(tuple(random.choice(len(sizes), order, replace=False).tolist()))
    return Hypergraph(sizes, {tuple(sorted(edge)) for edge in chosen})


@NEEDS_KERNEL
def test_branch_and_bound_proves_what_pytoulbar2_proves():
    pytest.importorskip("pytoulbar2")
    from hyperaction.bench.maximise import toulbar_optima

    hypergraph = mixed_orders(0)
    outputs = outputs_for(hypergraph, (6,), 2)
    mask = random_mask(hypergraph, 6, 2, 0.9)
    best = plan(hypergraph, way="branch-and-bound")
    # For pytoulbar2, what is forbidden costs more than everything else can make up for.
    for allowed in (np.ones_like(mask), mask):
        _, optima = toulbar_optima(hypergraph, np.where(allowed, outputs, -1e4))
        found = best.bounded(outputs, mask=allowed)
        np.testing.assert_allclose(found.value, optima, rtol=1e-5)
        np.testing.assert_allclose(found.upper_bound, optima, rtol=1e-4)


@NEEDS_KERNEL
@pytest.mark.parametrize(
    "way", [Tabu(0.0, 0), BranchAndBound(0.0, 0, 1), Ascent(0.0, 1, 1)], ids=lambda way: way.name
)
def test_searches_start_from_the_best_candidate(way):
    hypergraph = Hypergraph.complete((5,) * 17, 2)
    outputs = outputs_for(hypergraph, (5,), 2)
    optima = plan(hypergraph, way="ascent").argmax(outputs)
    others = np.random.default_rng(0).integers(5, size=(5, 3, 17))
    candidates = np.concatenate([others, np.asarray(optima)[:, None]], axis=1)
    tables = structure(hypergraph)
    few = partial(kernels.search, structure=tables, steps=0)
    np.testing.assert_array_equal(few(jnp.asarray(outputs), start=optima)[0], optima)
    best = maximiser(hypergraph, way=way)
    for state in range(5):
        action = best.argmax(outputs[state], candidates=candidates[state])
        np.testing.assert_array_equal(action, optima[state])
    mapped = jax.vmap(lambda o, c: best.argmax(o, candidates=c))(outputs, jnp.asarray(candidates))
    np.testing.assert_array_equal(mapped, optima)


@NEEDS_KERNEL
@pytest.mark.parametrize("way", ["ascent", "branch-and-bound"])
@pytest.mark.parametrize("rank", [2, 3])
def test_searches_survive_any_numbers(way, rank):
    hypergraph = Hypergraph.complete((5,) * (17 if rank == 2 else 8), rank)
    best = plan(hypergraph, way=way, nodes=100)
    outputs = outputs_for(hypergraph, (18,), 2)
    for value in (np.nan, -3e38, 3e38, np.inf):
        outputs[::2] = value
        values, _ = jax.jit(lambda o: best.value_and_action(o))(outputs)
        assert np.isnan(values[::2]).all() == np.isnan(value)
        assert np.isfinite(values[1::2]).all()


@pytest.mark.parametrize("name", ["sum", "universal", "monotonic"])
def test_sampling_finds_its_way_under_masks_on_sub_actions(name):
    hypergraph = Hypergraph.complete((5,) * 9, 2)
    mixer = made(lambda key: make_mixer(name, hypergraph, features=1, key=key))
    best = maximiser(hypergraph, mixer, way="sampling")
    mask = np.tile([True, True, False, False, False], 9)
    outputs = outputs_for(hypergraph, (5,), 2) / 10
    actions = best.argmax(outputs, mask=mask)
    assert (np.asarray(actions) < 2).all()
    mapped = jax.jit(jax.vmap(lambda o: best.argmax(o, mask=mask)))(outputs)
    np.testing.assert_array_equal(mapped, actions)


@NEEDS_KERNEL
def test_bounds_hold_for_tiny_values_and_where_no_action_was_found():
    hypergraph = Hypergraph.complete((3,) * 40, 2)
    outputs = outputs_for(hypergraph, (4,), 2) * np.float32(1e-10)
    bound = plan(hypergraph, way="branch-and-bound", nodes=1).bounded(outputs).upper_bound
    assert (np.asarray(bound) >= np.asarray(plan(hypergraph, way="ascent").max(outputs))).all()
    dense = Hypergraph.complete((20,) * 20, 2)
    random = np.random.default_rng(0)
    mask = random.random(dense.num_outputs) < 0.75
    hidden = random.integers(20, size=20)
    mask[dense.indices(hidden)] = True
    outputs = outputs_for(dense, (), 2)
    best = plan(dense, way="branch-and-bound", nodes=500)
    found = jax.jit(lambda o: best.bounded(o, mask=mask))(outputs)
    assert found.upper_bound >= dense.representation(outputs, hidden).sum() - 1e-3


def test_sampling_never_misses_a_candidate():
    hypergraph = Hypergraph.complete((10,) * 8, 1)
    mixer = made(lambda key: make_mixer("universal", hypergraph, features=1, key=key))
    best = maximiser(hypergraph, mixer)
    assert best.name == "sampling"
    outputs = outputs_for(hypergraph, (6,), 2)
    random = np.random.default_rng(1)
    seen = random.integers(0, 10, size=(500, 8))
    values = best.max(outputs, candidates=seen)
    representations = hypergraph.representation(outputs[:, None], seen[None])
    mixed = np.asarray(called(jax.vmap(jax.vmap(mixer)), representations))
    assert (np.asarray(values) >= mixed.max(axis=1) - 1e-4).all()
