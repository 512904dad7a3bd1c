"""What holds for every way to maximise."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, Mean, make_mixer, maximiser
from hyperaction.maximise import WAYS
from hyperaction.mixers import MIXERS
from tests.examples import examples
from tests.maximise.problems import KINDS, given_mask, plan, random_mask
from tests.modules import called
from tests.strategies import (
    hypergraphs,
    outputs_for,
)


@settings(max_examples=examples(5))
@given(hypergraph=hypergraphs(), seed=st.integers(0, 99), name=st.sampled_from(sorted(MIXERS)))
def test_every_mixer_is_maximised_with_and_without_masks(hypergraph, seed, name):
    random = np.random.default_rng(seed)
    state = random.normal(size=(3, 3)).astype(np.float32)
    outputs = outputs_for(hypergraph, (3,), seed) / 10
    every = np.asarray(hypergraph.representation(outputs[:, None], hypergraph.all_actions()[None]))
    masks = (None, random_mask(hypergraph, 3, seed, 0.8))

    @jax.jit
    def everything(key, outputs, state, every):
        mixer = make_mixer(name, hypergraph, features=3, key=key)
        best = plan(hypergraph, mixer)
        assert best.exact
        given = [given_mask(hypergraph, mask) for mask in masks]
        found = [best.value_and_action(outputs, mask=mask, state=state) for mask in given]
        return found, jax.vmap(jax.vmap(mixer, in_axes=(0, None)))(every, state)

    found, mixed = jax.tree.map(np.asarray, everything(jax.random.key(seed), outputs, state, every))
    for mask, (values, actions) in zip(masks, found, strict=True):
        allowed = mixed
        if mask is not None:
            legal = hypergraph.representation(mask[:, None], hypergraph.all_actions()[None])
            allowed = np.where(legal.all(axis=-1), mixed, -np.inf)
        for row in range(3):
            best = allowed[row].max()
            np.testing.assert_allclose(values[row], best, rtol=1e-4, atol=1e-5)
            if np.isfinite(values[row]):
                flat = np.ravel_multi_index(tuple(actions[row]), hypergraph.sizes)
                np.testing.assert_allclose(allowed[row, flat], best, rtol=1e-4, atol=1e-5)


def each_way(sizes=(3, 2, 3)):
    """A maximiser of every way, with a hypergraph that it takes; once, where no kernel serves."""
    seen = []
    for way, kind in itertools.product(WAYS, KINDS):
        if way == "branch-and-bound" and kind == "jax":
            continue  # It is in the kernel only.
        rank = 1 if way == "decentralised" else 2
        best = plan(Hypergraph.complete(sizes, rank), way=way, kind=kind)
        if best.way not in seen:
            seen.append(best.way)
            yield best


@pytest.mark.parametrize("best", list(each_way()), ids=lambda best: best.way.__class__.__name__)
class TestEveryWay:
    """Most on eight states, so that tests of a way share its programs."""

    def test_works_alone_in_batches_and_under_vmap(self, best):
        outputs = outputs_for(best.hypergraph, (2, 4), 6)
        values, actions = best.value_and_action(outputs)
        assert values.shape == (2, 4)
        assert actions.shape == (2, 4, 3)
        mapped = jax.jit(jax.vmap(jax.vmap(best.value_and_action)))(outputs)
        one = best.value_and_action(outputs[1, 3])
        np.testing.assert_allclose(mapped[0], values, rtol=1e-6)
        np.testing.assert_array_equal(mapped[1], actions)
        np.testing.assert_array_equal(one[1], actions[1, 3])

    def test_is_differentiable_in_the_chosen_outputs(self, best):
        outputs = outputs_for(best.hypergraph, (8,), 6)
        gradient = called(jax.grad(lambda o: best.max(o).sum()), outputs)
        indices = best.hypergraph.indices(best.argmax(outputs))
        expected = np.zeros(outputs.shape)
        np.put_along_axis(expected, np.asarray(indices), 1.0, axis=1)
        np.testing.assert_array_equal(gradient, expected)

    def test_nan_raises_outside_and_stays_nan_inside(self, best):
        outputs = outputs_for(best.hypergraph, (8,), 6)
        outputs[2, 1] = np.nan
        with pytest.raises(ValueError, match="the outputs of state 2 hold NaN"):
            best.max(outputs)
        values, actions = jax.jit(best.value_and_action)(outputs)
        np.testing.assert_array_equal(np.isnan(values), np.arange(8) == 2)
        np.testing.assert_array_equal((np.asarray(actions) == -1).all(axis=1), np.arange(8) == 2)
        assert (np.delete(actions, 2, axis=0) >= 0).all()

    def test_a_mask_that_leaves_nothing_raises_outside_and_is_minus_infinity_inside(self, best):
        outputs = outputs_for(best.hypergraph, (8,), 6)
        mask = np.ones((8, sum(best.hypergraph.sizes)), bool)
        mask[1, 3:5] = False  # both sub-actions of vertex 1
        with pytest.raises(
            ValueError,
            match=r"the mask of state 1 leaves no action|no allowed action of state 1 was found",
        ):
            best.argmax(outputs, mask=mask)
        values, actions = jax.jit(lambda o, m: best.value_and_action(o, mask=m))(outputs, mask)
        np.testing.assert_array_equal(values == -np.inf, np.arange(8) == 1)
        assert (np.asarray(actions[1]) == -1).all()

    def test_a_mask_on_sub_actions_is_obeyed(self, best):
        outputs = outputs_for(best.hypergraph, (8,), 6)
        mask = np.random.default_rng(0).random((8, 8)) < 0.6
        mask[:, [0, 3, 5]] = True  # something is left of every vertex
        values, actions = best.value_and_action(outputs, mask=mask)
        starts = np.array([0, 3, 5])
        assert np.take_along_axis(mask, starts + np.asarray(actions), axis=1).all()
        brute = plan(best.hypergraph, way="enumeration").max(outputs, mask=mask)
        np.testing.assert_allclose(values, brute, rtol=1e-5)

    def test_forbidden_nan_does_not_count(self, best):
        outputs = outputs_for(best.hypergraph, (1,), 6)
        mask = np.ones(outputs.shape, bool)
        outputs[0, 0], mask[0, 0] = np.nan, False
        assert np.isfinite(best.max(outputs, mask=mask)).all()

    def test_an_empty_batch_gives_an_empty_answer(self, best):
        values, actions = best.value_and_action(outputs_for(best.hypergraph, (0,), 6))
        assert values.shape == (0,)
        assert actions.shape == (0, 3)

    def test_infinite_values_do_not_hide_allowed_actions(self, best):
        outputs = np.zeros((8, best.hypergraph.num_outputs), np.float32)
        outputs[:, 1] = np.inf
        mask = np.ones((8, 8), bool)
        mask[:, 1] = False
        assert (best.max(outputs, mask=mask) == 0.0).all()
        assert (best.max(outputs) == np.inf).all()
        outputs[:, 0] = -np.inf
        assert (best.max(outputs, mask=mask) == 0.0).all()

    def test_large_equal_outputs_do_not_hide_the_mask(self, best):
        outputs = np.full((8, best.hypergraph.num_outputs), -3e7, np.float32)
        mask = np.tile([False, True, True, False, True, False, True, True], (8, 1))
        _, actions = best.value_and_action(outputs, mask=mask)
        assert (np.asarray(actions) > 0).all()

    def test_wrong_shapes_are_refused(self, best):
        outputs = outputs_for(best.hypergraph, (2,), 6)
        with pytest.raises(ValueError, match="one per output of the hypergraph"):
            best.max(outputs[:, :-1])
        with pytest.raises(ValueError, match="8 long, one per sub-action, or"):
            best.max(outputs, mask=np.ones((2, 5), bool))
        with pytest.raises(ValueError, match=r"the mask has shape \(3, .* have \(2,\) states"):
            best.max(outputs, mask=np.ones((3, 8), bool))
        with pytest.raises(ValueError, match=r"the state has shape \(3, 4\)"):
            best.max(outputs, state=np.ones((3, 4), np.float32))
        with pytest.raises(ValueError, match="sub-action 7 of vertex 0 is out of range"):
            best.max(outputs, candidates=[[7, 0, 0]])
        with pytest.raises(ValueError, match="outputs are real numbers, not complex64"):
            best.max(outputs.astype(np.complex64))


def test_doubles_keep_their_precision():
    hypergraph = Hypergraph.complete((3,) * 4, 2)
    with jax.enable_x64(True):
        outputs = np.random.default_rng(0).normal(size=(50, hypergraph.num_outputs)) + 1e7
        values = plan(hypergraph).max(outputs)
        every = hypergraph.representation(outputs[:, None], hypergraph.all_actions()[None])
        np.testing.assert_allclose(values, every.sum(axis=-1).max(axis=1), rtol=1e-14)


def test_vmap_over_mixers_is_allowed():
    hypergraph = Hypergraph.complete((3, 2), 2)
    keys = jax.random.split(jax.random.key(0), 4)

    def largest(key, outputs):
        mixer = make_mixer("universal", hypergraph, features=1, key=key)
        return maximiser(hypergraph, mixer).max(outputs)

    outputs = outputs_for(hypergraph, (4, 5), 2)
    mapped = jax.jit(jax.vmap(largest))(keys, outputs)
    alone = jax.jit(largest)
    for key, one, found in zip(keys, outputs, mapped, strict=True):
        np.testing.assert_allclose(found, alone(key, one), rtol=1e-5)


def test_states_of_the_same_values_get_the_same_action():
    hypergraph = Hypergraph.complete((3, 3, 3), 2)
    flat = np.zeros((4, hypergraph.num_outputs), np.float32)
    for best in (plan(hypergraph), plan(hypergraph, kind="jax"), plan(hypergraph, way="ascent")):
        actions = np.asarray(best.argmax(flat))
        assert (actions == actions[0]).all()
        np.testing.assert_array_equal(best.max(flat), np.zeros(4))


def test_mean_is_the_sum_over_the_number_of_hyperedges():
    hypergraph = Hypergraph.complete((3, 2, 4), 2)
    outputs = outputs_for(hypergraph, (5,), 2)
    sums, means = maximiser(hypergraph), maximiser(hypergraph, Mean())
    np.testing.assert_allclose(means.max(outputs), sums.max(outputs) / 6, rtol=1e-5)
    np.testing.assert_array_equal(means.argmax(outputs), sums.argmax(outputs))
