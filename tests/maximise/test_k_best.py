"""The k best joint actions against sorting all of them."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, make_mixer, maximiser
from tests.examples import examples
from tests.maximise.problems import KINDS, given_mask, plan, random_mask, slow_allowed
from tests.strategies import hypergraphs, outputs_for, slow_values


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(3))
@given(hypergraph=hypergraphs(max_vertices=4), seed=st.integers(0, 99), k=st.integers(1, 7))
def test_the_k_best_are_the_first_of_all_sorted(kind, hypergraph, seed, k):
    outputs = outputs_for(hypergraph, (3,), seed)
    mask = random_mask(hypergraph, 3, seed, 0.85)
    best = plan(hypergraph, kind=kind)
    find = jax.jit(lambda o, m: best.best(o, k, mask=given_mask(hypergraph, m)))
    values, actions = map(np.asarray, find(outputs, mask))
    assert values.shape == (3, k)
    allowed = slow_allowed(hypergraph, mask)
    for row in range(3):
        every = slow_values(hypergraph, outputs[row])
        left = {action: value for action, value in every.items() if allowed(row, action)}
        expected = sorted(left.values(), reverse=True)[:k]
        found = [tuple(map(int, action)) for action in actions[row, : len(expected)]]
        assert len(set(found)) == len(expected)
        np.testing.assert_allclose(values[row, : len(expected)], expected, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose([left[a] for a in found], expected, rtol=1e-4, atol=1e-3)
        assert (values[row, len(expected) :] == -np.inf).all()
        assert (actions[row, len(expected) :] == -1).all()


def test_the_first_of_the_best_is_the_maximum_under_any_mixer():
    hypergraph = Hypergraph((3, 2, 3), [(0, 1), (1, 2)])
    outputs, state = outputs_for(hypergraph, (2, 2), 4), np.ones((2, 2, 3), np.float32)

    @jax.jit
    def both(key):
        best = maximiser(hypergraph, make_mixer("qmix", hypergraph, features=3, key=key))
        return best.best(outputs, 18, state=state), best.value_and_action(outputs, state=state)

    found, (values, actions) = jax.tree.map(np.asarray, both(jax.random.key(0)))
    np.testing.assert_allclose(found.values[..., 0], values, rtol=1e-6)
    np.testing.assert_array_equal(found.actions[..., 0, :], actions)
    assert (np.diff(found.values, axis=-1) <= 0).all()
    numbers = np.ravel_multi_index(np.moveaxis(np.asarray(found.actions), -1, 0), (3, 2, 3))
    np.testing.assert_array_equal(np.sort(numbers), np.broadcast_to(np.arange(18), (2, 2, 18)))


def test_the_k_best_of_forty_vertices_need_no_list():
    chain = Hypergraph((3,) * 40, [(v,) for v in range(40)] + [(v, v + 1) for v in range(39)])
    outputs = np.zeros(chain.num_outputs, np.float32)
    outputs[0:120:3] = np.arange(1, 41)  # the first sub-action of each vertex
    values, actions = maximiser(chain).best(outputs, 5)
    np.testing.assert_allclose(values, [820, 819, 819, 818, 818])
    assert (np.asarray(actions) != 0).sum(axis=1).tolist() == [0, 1, 1, 1, 1]


def test_what_is_not_a_number_of_actions_is_refused():
    best = maximiser(Hypergraph.complete((2, 2), 2))
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="it must be at least 1"):
            best.best(np.zeros(8), wrong)
    with pytest.raises(ValueError, match="the outputs hold NaN"):
        best.best(np.full(8, np.nan), 2)
