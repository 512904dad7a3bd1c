"""Masks, and random actions that obey them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph
from hyperaction.maximise import maximiser, random_actions
from tests.examples import examples
from tests.strategies import (
    hypergraphs,
    slow_representation,
)


def test_random_actions_are_allowed_and_even():
    hypergraph = Hypergraph.complete((3, 2, 3), 2)
    mask = np.ones(hypergraph.num_outputs, bool)
    mask[hypergraph.slices[hypergraph.edges.index((0, 1))]] = [True, False, False, True, True, True]
    batch = jnp.broadcast_to(mask, (4000, hypergraph.num_outputs))
    draw = jax.jit(lambda key: random_actions(hypergraph, key, batch))
    actions = np.asarray(draw(jax.random.key(0)))
    legal = hypergraph.all_actions()
    legal = legal[hypergraph.representation(mask, legal).all(axis=-1)]
    flat, counts = np.unique(np.ravel_multi_index(actions.T, (3, 2, 3)), return_counts=True)
    np.testing.assert_array_equal(flat, np.ravel_multi_index(legal.T, (3, 2, 3)))
    expected = 4000 / len(legal)
    assert ((counts - expected) ** 2 / expected).sum() < 2.5 * len(legal)


def test_random_actions_are_found_where_few_are_allowed():
    hypergraph = Hypergraph((6,) * 6, [(v, v + 1) for v in range(5)])
    mask = np.zeros(hypergraph.num_outputs, bool)
    for part in hypergraph.slices:
        mask[part] = np.eye(6, dtype=bool).ravel()  # all sub-actions must be the same
    keys = jax.random.split(jax.random.key(1), 40)
    actions = jax.jit(jax.vmap(lambda key: random_actions(hypergraph, key, jnp.asarray(mask))))(
        keys
    )
    assert (np.asarray(actions) == np.asarray(actions)[:, :1]).all()
    assert len(set(np.asarray(actions)[:, 0].tolist())) == 6
    with pytest.raises(ValueError, match="leaves no action"):
        random_actions(hypergraph, keys[0], jnp.zeros(hypergraph.num_outputs, bool))
    with pytest.raises(ValueError, match="a shape or masks, not both"):
        random_actions(hypergraph, keys[0], jnp.asarray(mask), shape=(5,))
    with pytest.raises(ValueError, match="`given` is for masks"):
        random_actions(hypergraph, keys[0], given=jnp.zeros(3, int))
    unmasked = jax.jit(lambda key: random_actions(hypergraph, key, shape=(500,)))(keys[0])
    assert unmasked.shape == (500, 6)
    assert set(np.unique(unmasked)) == set(range(6))


@settings(max_examples=examples(10))
@given(hypergraph=hypergraphs(), seed=st.integers(0, 99))
def test_a_mask_on_sub_actions_allows_what_its_entries_allow(hypergraph, seed):
    random = np.random.default_rng(seed)
    mask = random.random(sum(hypergraph.sizes)) < 0.6
    outputs = random.normal(size=hypergraph.num_outputs).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(hypergraph.sizes)[:-1]])
    allowed = {
        tuple(action): sum(slow_representation(hypergraph, outputs, action))
        for action in hypergraph.all_actions().tolist()
        if all(mask[starts + action])
    }
    best = jax.jit(lambda m: maximiser(hypergraph).value_and_action(outputs, mask=m))
    value, action = map(np.asarray, best(mask))
    assert tuple(action.tolist()) in (allowed or {(-1,) * len(starts)})
    np.testing.assert_allclose(value, max(allowed.values(), default=-np.inf), rtol=1e-4, atol=1e-4)
