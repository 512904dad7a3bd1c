"""Networks whose best actions are looked for: the action-in network and logarithmic values."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import MLP, Hypergraph
from hyperaction.errors import SettingError
from hyperaction.networks import ActionInNetwork, LogMapping, LogNetwork
from tests.maximise.problems import random_mask, slow_allowed

GRAPH = Hypergraph((3, 2, 4), [(0, 1), (2,), (0, 2)])
MAPPING = LogMapping(0.5, 0.96**100, inits=(1.0, 0.0))
KINDS = {
    "action-in": lambda network, key, way: ActionInNetwork(
        GRAPH, network, width=9, way=way, key=key
    ),
    "logarithmic sum": lambda network, key, way: LogNetwork(
        GRAPH, network, MAPPING, width=5, way=way, key=key
    ),
    "logarithmic qmix": lambda network, key, way: LogNetwork(
        GRAPH, network, MAPPING, mixer="qmix", width=5, way=way, key=key
    ),
}


@cache
def made(kind, way=None):
    """A network of random weights, drawn by NumPy, as nothing need be compiled for that."""

    def make(key):
        return KINDS[kind](MLP((4,), (6,), key=key), key, way)

    random = np.random.default_rng(0)
    shapes = jax.eval_shape(make, jax.random.key(0))
    return jax.tree.map(lambda leaf: jnp.asarray(random.normal(size=leaf.shape) / 3), shapes)


OBSERVATIONS = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)


def every(network):
    return np.asarray(jax.jit(jax.vmap(network.q_values))(OBSERVATIONS))


def test_an_action_in_network_takes_one_hot_vectors():
    network = made("action-in")
    found, actions = every(network), GRAPH.all_actions()
    states = jax.jit(jax.vmap(network.state_network))(OBSERVATIONS)
    weight = np.concatenate([network.hidden.weight, network.columns.T], axis=1)
    network = jax.tree.map(np.asarray, network)
    for state, values in zip(np.asarray(states), found, strict=True):
        for action, value in zip(actions, values, strict=True):
            hot = [np.eye(size)[each] for size, each in zip(GRAPH.sizes, action, strict=True)]
            hidden = weight @ np.concatenate([state, *hot]) + network.hidden.bias
            expected = np.maximum(hidden, 0) @ network.out.weight[0] + network.out.bias[0]
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["logarithmic sum", "logarithmic qmix"])
def test_logarithmic_values_are_mapped_after_mixing(kind):
    network = made(kind)
    found, actions = every(network), GRAPH.all_actions()
    tables, state = jax.jit(lambda o: network.features(o))(OBSERVATIONS[0])
    sides = []
    for mixer, table, init in zip(network.mixers, tables, (1.0, 0.96**100), strict=True):
        each = jax.jit(jax.vmap(mixer, in_axes=(0, None)))
        sides.append(init * np.exp(each(GRAPH.representation(table, actions), state) / 0.5))
    np.testing.assert_allclose(found[0], sides[0] - sides[1], rtol=1e-4, atol=1e-5)
    assert abs(found).max() > 0.1
    both = jax.jit(lambda o, a: network.logs(o, a))(OBSERVATIONS[0], actions[7])
    expected = [
        np.log(side[7] / init) * 0.5 for side, init in zip(sides, (1, 0.96**100), strict=True)
    ]
    np.testing.assert_allclose(both, expected, rtol=1e-4, atol=1e-5)


def check_best(network, mask, legal):
    """Greedy actions are the best of those that are allowed."""
    greedy = jax.jit(jax.vmap(lambda o, m: network.greedy(o, mask=m)))(OBSERVATIONS, mask)
    actions = GRAPH.all_actions()
    for row, (values, action) in enumerate(zip(every(network), np.asarray(greedy), strict=True)):
        fine = [n for n, each in enumerate(actions) if legal(row, tuple(each.tolist()))]
        best = actions[max(fine, key=lambda n: values[n])] if fine else -1
        np.testing.assert_array_equal(action, best)


@pytest.mark.parametrize("way", [None, "sampling"])
@pytest.mark.parametrize("kind", ["action-in", "logarithmic sum"])
def test_best_actions_are_the_best_of_all_that_masks_allow(kind, way):
    network = made(kind, way)
    assert network.takes_candidates == (way == "sampling")
    mask = random_mask(GRAPH, 5, seed=3, share=0.7)
    mask[4] = False
    check_best(network, mask, slow_allowed(GRAPH, mask))
    check_best(network, None, lambda row, action: True)


def test_masks_may_be_per_sub_action():
    mask = np.random.default_rng(4).random((5, 9)) < 0.6
    mask[:, [0, 3, 5]] = True
    check_best(made("action-in"), mask, lambda row, a: mask[row, np.array([0, 3, 5]) + a].all())


@pytest.mark.parametrize("kind", ["action-in", "logarithmic sum"])
def test_the_maximum_has_the_value_and_the_gradient_of_the_best_action(kind):
    network, observation = made(kind), OBSERVATIONS[0]
    action = GRAPH.all_actions()[every(network)[0].argmax()]
    best, of_max = jax.jit(jax.value_and_grad(lambda n: n.max(observation)))(network)
    value, of_best = jax.jit(jax.value_and_grad(lambda n: n(observation, action)))(network)
    np.testing.assert_allclose(best, value, rtol=1e-4)
    for one, other in zip(jax.tree.leaves(of_max), jax.tree.leaves(of_best), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_values_that_are_not_finite_have_no_best_action():
    network = jax.tree.map(lambda leaf: leaf * jnp.nan, made("action-in"))
    assert (jax.jit(lambda o: network.greedy(o))(OBSERVATIONS[0]) == -1).all()


def test_ways_that_need_tables_are_refused_and_lists_that_are_too_long():
    with pytest.raises(SettingError, match="maximise elimination: these values are not mixed"):
        made("action-in", "elimination")
    large = Hypergraph((10,) * 9, [(v,) for v in range(9)])
    with pytest.raises(
        SettingError, match="maximise enumeration cannot fit: there are 1,000,000,0"
    ):
        jax.eval_shape(
            lambda key: ActionInNetwork(
                large, MLP((4,), (6,), key=key), way="enumeration", key=key
            ),
            jax.random.key(0),
        )
    with pytest.raises(ValueError, match="more than the 10 that q_values lists"):
        made("action-in").q_values(OBSERVATIONS[0], limit=10)
