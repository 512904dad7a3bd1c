from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction import Hypergraph, make_mixer
from hyperaction.mixers import MIXERS
from tests.modules import numbers_of

HYPERGRAPH = Hypergraph((2, 2, 2), [(0,), (1,), (0, 1), (0, 2), (1, 2)])
EDGES, FEATURES = 5, 4


@partial(jax.jit, static_argnames="name")
def mixer_and_state(name, seed=0):
    mixer_key, state_key = jax.random.split(jax.random.key(seed))
    mixer = make_mixer(name, HYPERGRAPH, features=FEATURES, key=mixer_key)
    return mixer, jax.random.normal(state_key, (FEATURES,))


mix = numbers_of(lambda mixer, rows, state: jax.vmap(mixer, in_axes=(0, None))(rows, state))


def values(name, representations, seed=0):
    mixer, state = mixer_and_state(name, seed)
    return mix(mixer, representations, state)


@given(st.sampled_from(sorted(MIXERS)), st.integers(0, 99))
def test_a_monotonic_mixer_never_falls_when_a_value_rises(name, seed):
    mixer, _ = mixer_and_state(name, seed)
    random = np.random.default_rng(seed)
    low = random.normal(size=(64, EDGES)).astype(np.float32) * 3
    high = low + np.eye(EDGES, dtype=np.float32)[random.integers(EDGES, size=64)]
    rises = values(name, high, seed) - values(name, low, seed)
    if mixer.monotonic:
        assert (rises > 0).all()
    else:
        assert name == "universal"


def test_a_universal_mixer_can_fall():
    steps = np.linspace(-3, 3, 50)[:, None].astype(np.float32) * np.ones(EDGES, np.float32)
    falls = [np.diff(values("universal", steps, seed)).min() < 0 for seed in range(8)]
    assert any(falls)


@pytest.mark.parametrize("name", MIXERS)
def test_an_affine_mixer_of_the_mean_is_the_mean_of_the_mixed(name):
    mixer, state = mixer_and_state(name)
    points = np.random.default_rng(0).normal(size=(100, EDGES)).astype(np.float32) * 3
    mean_of_mixed = values(name, points).mean()
    (mixed_mean,) = mix(mixer, points.mean(axis=0)[None], state)
    assert np.isclose(mean_of_mixed, mixed_mean, atol=1e-4) == mixer.affine


@pytest.mark.parametrize("name", MIXERS)
def test_an_affine_mixer_weighs_hyperedges_by_its_weights(name):
    mixer, state = mixer_and_state(name)
    if not mixer.affine:
        with pytest.raises(TypeError, match="is not a weighted sum"):
            mixer.weights(EDGES)
        return
    slopes = numbers_of(lambda mixer, x, s: (jax.grad(mixer)(x, s), mixer.weights(EDGES)))
    gradient, weights = slopes(mixer, np.zeros(EDGES, np.float32), state)
    np.testing.assert_allclose(gradient, weights, rtol=1e-6)


def test_sum_and_mean_are_what_they_say():
    points = np.arange(10, dtype=np.float32).reshape(2, EDGES)
    np.testing.assert_allclose(values("sum", points), points.sum(axis=1))
    np.testing.assert_allclose(values("mean", points), points.mean(axis=1))


def test_every_order_weighs_as_much_as_any_other():
    point = np.array([[1.0, 3.0, 10.0, 20.0, 60.0]], np.float32)
    np.testing.assert_allclose(values("order-mean", point), [2.0 + 30.0])


def test_qmix_depends_on_the_state():
    mixer, state = mixer_and_state("qmix")
    representation = np.ones((1, EDGES), np.float32)
    assert mix(mixer, representation, state) != mix(mixer, representation, -state)
    with pytest.raises(ValueError, match="pass state="):
        mixer(jnp.ones(EDGES))


def test_an_unknown_mixer_is_told_the_nearest():
    with pytest.raises(ValueError, match="unknown mixer 'unversal'; did you mean 'universal'"):
        make_mixer("unversal", HYPERGRAPH, features=1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="unknown mixer 'zzz'; choose from sum, "):
        make_mixer("zzz", HYPERGRAPH, features=1, key=jax.random.key(0))
