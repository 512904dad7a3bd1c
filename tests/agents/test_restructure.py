"""Networks on other hyperedges: what stays of their values, and what does not."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import MLP, Hypergraph, QNetwork
from hyperaction.agents import moments
from hyperaction.agents.restructure import _tables, moved_moments, plan, restructured
from hyperaction.anova import Canonical, canonical
from tests.examples import examples
from tests.modules import called, numbers_of, random_like
from tests.strategies import hypergraphs

SEEN = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


def network_for(hypergraph, mixer="sum", dueling=False, seed=0):
    """A small network of random parameters; nothing is compiled."""

    def make(key):
        state_network = MLP((4,), (6,), key=key)
        return QNetwork(
            hypergraph, state_network, mixer=mixer, width=3, dueling=dueling, value_width=5, key=key
        )

    return random_like(jax.eval_shape(make, jax.random.key(0)), seed)


def rectified(layer, x):
    return np.maximum(np.asarray(layer.weight) @ x + np.asarray(layer.bias), 0.0)


def values_of(network, observation):
    """The values of all joint actions, in NumPy: nothing is compiled."""
    hypergraph = network.hypergraph
    state = rectified(network.state_network.layers[0], observation)
    heads = rectified(network.blocks.hidden, state).reshape(hypergraph.num_edges, -1)
    weights, biases = _tables(network.blocks)
    tables = [w @ head + b for w, head, b in zip(weights, heads, biases, strict=True)]
    chosen = hypergraph.representation(np.concatenate(tables), hypergraph.all_actions())
    mix = {"Sum": np.sum, "Mean": np.mean}[type(network.mixer).__name__]
    values = mix(chosen, axis=-1)
    if network.value_stream is None:
        return values
    hidden, out = network.value_stream
    value = np.asarray(out.weight) @ rectified(hidden, state) + np.asarray(out.bias)
    return values - values.mean() + value


def all_values(network):
    return np.stack([values_of(network, observation) for observation in SEEN])


def without(values, sizes, lost):
    """Values of all joint actions less the parts of these vertices, by averaging over the others.

    The slow and obvious way: the canonical form of the table of all joint actions.
    """
    whole = Hypergraph(sizes, [range(len(sizes))])
    form = canonical(whole, values)
    parts = {part: 0 * table if part in lost else table for part, table in form.parts.items()}
    total = form.constant.reshape(-1, *(1,) * len(sizes))
    for part, table in Canonical(form.constant, parts).parts.items():
        shape = (sizes[v] if v in part else 1 for v in range(len(sizes)))
        total = total + table.reshape(len(values), *shape)
    return np.broadcast_to(total, (len(values), *sizes)).reshape(len(values), -1)


@st.composite
def changes(draw):
    """Two hypergraphs on the same vertices."""
    old = draw(hypergraphs(max_vertices=3, max_size=3))
    n = len(old.sizes)
    every = [part for order in range(1, n + 1) for part in combinations(range(n), order)]
    edges = draw(st.sets(st.sampled_from(every)))
    edges |= {(vertex,) for vertex in set(range(n)).difference(*edges)}
    return old, Hypergraph(old.sizes, draw(st.permutations(sorted(edges))))


@settings(max_examples=examples(5))
@given(changes(), st.sampled_from(["sum", "mean"]), st.booleans())
def test_only_parts_that_no_hyperedge_contains_are_lost(change, mixer, dueling):
    old, new = change
    network = network_for(old, mixer, dueling)
    after = restructured(network, new, rng=np.random.default_rng(1))
    assert after.hypergraph == after.blocks.hypergraph == new
    every = {part for edge in old.edges for n in range(1, len(edge) + 1)
             for part in combinations(edge, n)}  # fmt: skip
    lost = {part for part in every if not any(set(part) <= set(edge) for edge in new.edges)}
    expected = without(all_values(network), old.sizes, lost)
    np.testing.assert_allclose(all_values(after), expected, rtol=1e-4, atol=1e-4)


def test_units_of_dropped_hyperedges_are_spread_over_the_kept():
    old = Hypergraph.complete((2,) * 6, 2)
    new = Hypergraph((2,) * 6, [(v,) for v in range(6)] + [(0, 3)])
    counts = [len(sources) for sources in plan(old, new)]
    # A head of its own for each of seven, and two for each of the fourteen pairs that go.
    assert sum(counts) == 7 + 2 * 14
    assert max(counts) <= 6


def test_the_network_computes_what_its_tables_say():
    old, new = Hypergraph.complete((2, 3, 2), 2), Hypergraph((2, 3, 2), [(1, 2), (0,), (0, 2)])
    after = restructured(network_for(old, "mean", dueling=True), new, rng=np.random.default_rng(1))
    found = jax.jit(lambda network: jax.vmap(network.q_values)(SEEN))(after)
    np.testing.assert_allclose(found, all_values(after), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mixer", ["sum", "mean"])
def test_added_hyperedges_learn_and_kept_ones_step_as_before(mixer):
    old, new = Hypergraph.complete((2, 3), 1), Hypergraph.complete((2, 3), 2)
    network = network_for(old, mixer)
    after = restructured(network, new, rng=np.random.default_rng(1))

    def loss(network):
        return sum((network(observation, jnp.array([1, 2])) - 5.0) ** 2 for observation in SEEN)

    before, gradient = map(numbers_of(jax.grad(loss)), (network, after))
    pairs = new.slices[2]
    assert np.abs(gradient.blocks.biases[pairs]).max() > 0
    assert np.abs(gradient.blocks.weights[-1]).max() > 0
    # The running means of gradients become those that the new network would have had.
    means = moved_moments(before, after, power=1, fill=0.0)
    squares = moved_moments(jax.tree.map(np.square, before), after, power=2, fill=7.0)
    singles = slice(0, pairs.start)
    rows = slice(0, 2 * 3)
    for power, moved in [(1, means), (2, squares)]:
        wanted = jax.tree.map(lambda leaf, power=power: np.asarray(leaf) ** power, gradient)
        for found, expected in [
            (moved.blocks.biases[singles], wanted.blocks.biases[singles]),
            (moved.blocks.hidden.weight[rows], wanted.blocks.hidden.weight[rows]),
        ]:
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert (np.asarray(squares.blocks.biases[pairs]) == 7.0).all()
    same = jax.tree.map(lambda a, b: a.shape == b.shape, squares, after)
    assert all(jax.tree.leaves(same))

    def step(parameters, gradient, state):
        settings = {"learning_rate": 0.1, "epsilon": 1e-3, "gradient_clip": 0.0}
        return moments.update(moments.ADAM, parameters, gradient, state, **settings)

    called(step, after, gradient, moments.Moments(np.int32(3), means, squares))


def test_leading_axes_pass_through():
    old, new = Hypergraph.complete((2, 3, 2), 2), Hypergraph((2, 3, 2), [(0,), (1,), (2,), (0, 2)])
    members = [network_for(old, "mean", seed=seed) for seed in range(2)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    together = restructured(stacked, new, rng=np.random.default_rng(1))
    for number, member in enumerate(members):
        alone = restructured(member, new, rng=np.random.default_rng(1))
        one = jax.tree.map(lambda leaf, number=number: leaf[number], together)
        np.testing.assert_allclose(all_values(one), all_values(alone), rtol=1e-4, atol=1e-5)


def test_learned_mixers_and_other_vertices_are_refused():
    old = Hypergraph.complete((2, 2), 1)
    for mixer in ("universal", "monotonic-linear"):
        with pytest.raises(ValueError, match="fixed weighted sum, such as the mixers sum and mean"):
            restructured(network_for(old, mixer), old, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"the vertices have the sizes \(2, 2\), not \(2, 3\)"):
        restructured(network_for(old), Hypergraph.complete((2, 3), 1), rng=np.random.default_rng(0))
