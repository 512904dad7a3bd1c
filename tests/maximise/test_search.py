"""Searches and bounds, against brute force and long searches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, make_mixer, maximiser
from tests.maximise.problems import assert_best, plan, random_mask, slow_allowed
from tests.strategies import (
    NEEDS_KERNEL,
    hypergraphs,
    outputs_for,
    slow_values,
)


@NEEDS_KERNEL
@settings(max_examples=18)
@given(hypergraph=hypergraphs(max_vertices=6, max_rank=2), seed=st.integers(0, 99))
def test_branch_and_bound_proves_the_brute_force_maximum(hypergraph, seed):
    outputs = outputs_for(hypergraph, (3,), seed)
    best = plan(hypergraph, way="branch-and-bound")
    found = best.bounded(outputs)
    assert_best(hypergraph, outputs, found.value, found.action)
    np.testing.assert_allclose(found.upper_bound, found.value, rtol=1e-5, atol=1e-4)
    mask = random_mask(hypergraph, 3, seed)
    values, actions = jax.jit(lambda o, m: best.value_and_action(o, mask=m))(outputs, mask)
    assert_best(hypergraph, outputs, values, actions, allowed=slow_allowed(hypergraph, mask))


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("ascent", "jax"),
        ("sampling", "jax"),
        pytest.param("ascent", "native", marks=NEEDS_KERNEL),
        pytest.param("branch-and-bound", "native", marks=NEEDS_KERNEL),
    ],
)
@settings(max_examples=10)
@given(hypergraph=hypergraphs(max_vertices=6, max_rank=2), seed=st.integers(0, 99))
def test_bounds_are_never_below_the_maximum(way, kind, hypergraph, seed):
    outputs = outputs_for(hypergraph, (2,), seed)
    found = plan(hypergraph, kind=kind, way=way, nodes=2).bounded(outputs)
    for one, value, bound in zip(outputs, found.value, found.upper_bound, strict=True):
        reference = max(slow_values(hypergraph, one).values())
        assert value <= reference + 1e-4
        assert bound >= reference - 1e-4


@pytest.mark.parametrize(
    ("way", "kind", "rank"),
    [
        ("ascent", "jax", 3),
        ("sampling", "jax", 2),
        pytest.param("ascent", "native", 2, marks=NEEDS_KERNEL),
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


@NEEDS_KERNEL
@pytest.mark.parametrize("way", ["ascent", "branch-and-bound"])
def test_searches_survive_any_numbers(way):
    hypergraph = Hypergraph.complete((5,) * 17, 2)
    best = plan(hypergraph, way=way, nodes=100)
    outputs = outputs_for(hypergraph, (64,), 2)
    for value in (np.nan, -3e38, 3e38, np.inf):
        outputs[::2] = value
        values, _ = jax.jit(lambda o: best.value_and_action(o))(outputs)
        assert np.isnan(values[::2]).all() == np.isnan(value)
        assert np.isfinite(values[1::2]).all()


@pytest.mark.parametrize("name", ["sum", "universal", "monotonic"])
def test_sampling_finds_its_way_under_masks_on_sub_actions(name):
    hypergraph = Hypergraph.complete((5,) * 9, 2)
    mixer = make_mixer(name, num_edges=hypergraph.num_edges, features=1, key=jax.random.key(0))
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
    mixer = make_mixer("universal", num_edges=8, features=1, key=jax.random.key(0))
    best = maximiser(hypergraph, mixer)
    assert best.name == "sampling"
    outputs = outputs_for(hypergraph, (6,), 2)
    random = np.random.default_rng(1)
    seen = random.integers(0, 10, size=(500, 8))
    values = best.max(outputs, candidates=seen)
    representations = hypergraph.representation(outputs[:, None], seen[None])
    mixed = jax.vmap(jax.vmap(mixer))(jnp.asarray(representations))
    assert (np.asarray(values) >= np.asarray(mixed.max(axis=1)) - 1e-4).all()
