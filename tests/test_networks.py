from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import MLP, Blocks, Hypergraph, NatureCNN, QNetwork, head_width
from hyperaction.agents.batch import Batch
from hyperaction.agents.config import QLearningConfig
from hyperaction.agents.parts import with_changes
from hyperaction.agents.state_networks import MLPNetwork, ResidualNetwork
from hyperaction.mixers import MIXERS
from hyperaction.networks import ResidualMLP
from hyperaction.networks.normalised import Normalised
from tests.examples import examples
from tests.modules import called, made, random_like
from tests.strategies import hypergraphs

OBSERVATION = (7,)


def network_for(hypergraph, seed=0, **options):
    """A small network of random parameters."""

    def make(key):
        return QNetwork(hypergraph, MLP(OBSERVATION, (16, 12), key=key), key=key, **options)

    return random_like(jax.eval_shape(make, jax.random.key(0)), seed)


def observations(count, seed=0):
    return jax.random.normal(jax.random.key(seed), (count, *OBSERVATION))


@settings(max_examples=examples(4))
@given(hypergraphs(), st.integers(1, 7))
def test_stacked_blocks_equal_one_head_after_the_other(hypergraph, width):
    action = np.array([size - 1 for size in hypergraph.sizes], np.int32)

    @jax.jit
    def compute(key, state):
        blocks = Blocks(hypergraph, features=6, width=width, key=key)
        blocks = eqx.tree_at(lambda b: b.biases, blocks, jnp.arange(float(hypergraph.num_outputs)))
        heads = blocks.heads(state)
        found = heads, blocks.outputs(heads), blocks.representation(heads, action)
        # Learning may move the weights that pad a table; they must not count.
        moved = eqx.tree_at(lambda b: b.weights, blocks, tuple(w + 0.3 for w in blocks.weights))
        return blocks, found, (moved.outputs(heads), moved.table_means(heads))

    state = np.random.default_rng(1).normal(size=6).astype(np.float32)
    blocks, found, moved = jax.tree.map(np.asarray, compute(jax.random.key(0), state))
    heads, outputs, representation = found
    hidden = np.maximum(blocks.hidden.weight @ state + blocks.hidden.bias, 0).reshape(-1, width)
    np.testing.assert_allclose(heads, hidden, rtol=1e-4, atol=1e-5)
    tables = [table for stack in blocks.weights for table in stack]
    for edge, part in enumerate(hypergraph.slices):
        size = part.stop - part.start
        found = outputs[part] - np.arange(part.start, part.stop)
        # Each head's weights stand in one of the stacks; its own must give its outputs.
        candidates = [table[:size] @ heads[edge] for table in tables if len(table) >= size]
        assert any(np.allclose(found, candidate, atol=1e-4) for candidate in candidates)
    expected = hypergraph.representation(outputs, action)
    np.testing.assert_allclose(representation, expected, rtol=1e-4, atol=1e-4)
    outputs, means = moved
    expected = [np.mean(outputs[part]) for part in hypergraph.slices]
    np.testing.assert_allclose(means, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("dueling", [False, True])
def test_gradients_reach_every_block(mixer, dueling):
    hypergraph = Hypergraph((3, 2, 4), [(2,), (0, 1), (1, 2), (0, 1, 2)])
    random = np.random.default_rng(0)
    actions = random.integers(hypergraph.sizes, size=(50, 3))
    given = random.normal(size=(50, *OBSERVATION)).astype(np.float32)

    def loss(network):
        return jnp.sum(jax.vmap(network)(given, actions) ** 2)

    network = network_for(hypergraph, mixer=mixer, dueling=dueling)
    gradients = jax.tree.map(np.asarray, jax.jit(jax.grad(loss))(network))
    per_edge = [np.abs(gradients.blocks.biases[part]).sum() for part in hypergraph.slices]
    assert np.all(np.array(per_edge) > 0)
    hidden = np.abs(gradients.blocks.hidden.weight).sum(axis=1)
    assert np.all(hidden.reshape(hypergraph.num_edges, -1).sum(axis=1) > 0)
    assert all(np.any(leaf != 0) for leaf in jax.tree.leaves(gradients.state_network))
    if dueling:
        assert np.any(gradients.value_stream[1].weight != 0)


@settings(max_examples=examples(4))
@given(hypergraphs(), st.sampled_from(sorted(MIXERS)), st.booleans())
def test_a_batch_gives_what_its_states_give_alone_and_max_and_greedy_agree_with_all_values(
    hypergraph, mixer, dueling
):
    network = network_for(hypergraph, mixer=mixer, dueling=dueling)
    batch = np.random.default_rng(0).normal(size=(5, *OBSERVATION)).astype(np.float32)
    last = hypergraph.all_actions()[-1]

    def found(observation):
        greedy = network(observation, network.greedy(observation))
        others = network.max(observation), greedy, network(observation, last)
        return network.q_values(observation), others

    @jax.jit
    def everything(batch):
        alone = [network.q_values(one) for one in (batch[0], batch[-1])]
        return jax.vmap(found)(batch), jax.vmap(network.q_values)(batch[:1]), jnp.stack(alone)

    (values, others), of_one, alone = jax.tree.map(np.asarray, everything(batch))
    largest, greedy, of_last = others
    np.testing.assert_allclose(values[[0, -1]], alone, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(of_one, alone[:1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(largest, values.max(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(greedy, values.max(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(of_last, values[:, -1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mixer", ["sum", "mean", "monotonic-linear"])
def test_dueling_centres_affine_mixes_around_the_state_value(mixer):
    network = network_for(Hypergraph.complete((3, 2, 4), 2), mixer=mixer, dueling=True)

    @jax.jit
    def found(observation):
        hidden, value = network.value_stream
        state = value(jax.nn.relu(hidden(network.state_network(observation))))
        return network.q_values(observation).mean(), state[0]

    mean, state_value = found(observations(1)[0])
    np.testing.assert_allclose(mean, state_value, rtol=1e-4, atol=1e-5)


def test_the_compiled_program_does_not_grow_with_the_number_of_heads():
    def equations(vertices):
        hypergraph = Hypergraph.complete((2,) * vertices, 2)
        network = network_for(hypergraph, dueling=True, width=4)
        jaxpr = jax.make_jaxpr(network)(observations(1)[0], jnp.zeros(vertices, int))
        return str(jaxpr).count(" = ")

    assert equations(4) == equations(9)


def test_the_paper_divides_its_hidden_units_over_the_heads():
    assert [head_width(heads) for heads in (1, 6, 21, 41)] == [400, 70, 20, 10]
    assert head_width(7, total_width=512) == 75
    network = network_for(Hypergraph.complete((5,) * 6, 3))
    assert network.blocks.hidden.weight.shape == (410, 12)


def test_weights_start_xavier_uniform_and_biases_at_zero():
    hypergraph = Hypergraph.complete((5,) * 6, 2)
    make = partial(Blocks, hypergraph, 400, 20)
    blocks = jax.tree.map(np.asarray, made(lambda key: make(key=key)))
    for weights, fan_out in zip(blocks.weights, (5, 25), strict=True):
        limit = (6 / (20 + fan_out)) ** 0.5
        assert 0.99 * limit < np.abs(weights).max() <= limit
    limit = (6 / (400 + 20)) ** 0.5
    assert 0.99 * limit < np.abs(blocks.hidden.weight).max() <= limit
    assert not blocks.biases.any()
    assert not blocks.hidden.bias.any()


def test_large_spaces_are_not_listed_unless_asked():
    network = network_for(Hypergraph.complete((5,) * 8, 1))
    with pytest.raises(ValueError, match=r"390,625 joint actions, .* limit=390625 raises"):
        network.q_values(observations(1)[0])

    @jax.jit
    def both(observation):
        return network.q_values(observation, limit=390_625).max(), network.max(observation)

    np.testing.assert_allclose(*both(observations(1)[0]), rtol=1e-5)


def test_the_state_network_may_be_anyones():
    hypergraph = Hypergraph.complete((3, 2), 2)

    def greedy(key):
        own = eqx.nn.MLP(7, 9, 8, 1, key=key)
        return QNetwork(hypergraph, own, features=9, key=key).greedy(jnp.ones(OBSERVATION))

    assert made(greedy).shape == (2,)
    with pytest.raises(ValueError, match="pass features="):
        made(lambda key: QNetwork(hypergraph, eqx.nn.MLP(7, 9, 8, 1, key=key), key=key))


def test_the_nature_network_takes_stacked_frames_of_bytes():
    frames = np.random.default_rng(0).integers(0, 256, (4, 84, 84), np.uint8)

    def make(key):
        return QNetwork(Hypergraph.complete((3, 3, 2), 3), NatureCNN(key=key), key=key)

    network = made(make)
    assert network.state_network.features == 11 * 11 * 64
    assert called(network.q_values, frames).shape == (18,)
    valid = jax.eval_shape(lambda: NatureCNN(padding="VALID", key=jax.random.key(0)))
    assert valid.features == 7 * 7 * 64
    with pytest.raises(ValueError, match=r"\(channels, height, width\), not \(84, 84\)"):
        made(lambda key: NatureCNN((84, 84), key=key))


def test_images_may_have_their_channels_last():
    def both(key):
        return NatureCNN((3, 40, 32), key=key), NatureCNN((40, 32, 3), key=key)

    first, last = made(both)
    image = np.random.default_rng(0).integers(0, 256, (3, 40, 32), np.uint8)
    np.testing.assert_array_equal(
        called(first, image), called(last, np.moveaxis(image, 0, -1).copy())
    )
    with pytest.raises(ValueError, match="too small for the convolutions"):
        made(lambda key: NatureCNN((3, 10, 10), padding="VALID", key=key))


def test_images_are_taken_in_double_precision_too():
    image = np.random.default_rng(0).integers(0, 256, (4, 44, 36), np.uint8)
    single = made(lambda key: NatureCNN((4, 44, 36), key=key))
    expected = called(single, image).sum()
    with jax.enable_x64(True):
        double = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), single)
        for given in (image, image.astype(np.float32)):
            whole = jax.jit(jax.value_and_grad(lambda net: net(given).sum()))  # noqa: B023
            found, gradient = whole(double)
            assert found.dtype == gradient.layers[0].weight.dtype == np.float64
            np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_observations_are_normalised_by_what_was_seen():
    random = np.random.default_rng(0)
    batches = [random.normal(3.0, [0.1, 5.0, 1.0], (8, 3)).astype(np.float32) for _ in range(5)]
    agent = agent_for_observations(normalise_observations=True, target="polyak")
    state = jax.jit(agent.init)(jax.random.key(0))
    update = jax.jit(agent.update)
    for batch in batches:
        state, _ = update(state, batch_of(batch))
    for network in (state.online, state.target):
        known = network.state_network
        seen = np.concatenate(batches)
        np.testing.assert_allclose(known.mean, seen.mean(axis=0), rtol=1e-4)
        np.testing.assert_allclose(known.variance, seen.var(axis=0), rtol=1e-3)
        one, x = seen[0], (seen[0] - seen.mean(axis=0)) / seen.std(axis=0)
        np.testing.assert_allclose(known(one), known.inner(jnp.asarray(x)), rtol=1e-3, atol=1e-4)
    assert float(known(np.full(3, 1e9, np.float32)).max()) < 1e4
    gradient = jax.grad(lambda n: n(jnp.ones(3)).sum())(state.online.state_network)
    assert not any(np.any(leaf) for leaf in (gradient.mean, gradient.variance, gradient.count))
    with pytest.raises(ValueError, match="is for vectors, not for images of shape"):
        Normalised(lambda x: x, (4, 84, 84))


def agent_for_observations(**changes):
    small = {"total_width": 8, "network": MLPNetwork((8,)), **changes}
    return with_changes(QLearningConfig(), small).build((2, 2), (3,))


def batch_of(observations):
    count = len(observations)
    zeros = jnp.zeros(count)
    observations = jnp.asarray(observations)
    actions = jnp.zeros((count, 2), jnp.int32)
    return Batch(observations, actions, zeros, zeros, observations, None, None)


@pytest.mark.parametrize("critics", [1, 2])
def test_heads_without_hidden_units_are_linear_in_the_features(critics):
    agent = agent_for_observations(total_width=0, critics=critics, network=ResidualNetwork(8))
    network = jax.jit(agent.init)(jax.random.key(0)).online
    member = network if critics == 1 else jax.tree.map(lambda leaf: leaf[0], network.members)
    state = np.arange(8.0, dtype=np.float32)
    assert member.blocks.hidden is None
    outputs = called(lambda state: member.blocks.outputs(member.blocks.heads(state)), state)
    tables = [w for stack in member.blocks.weights for w in np.asarray(stack)]
    np.testing.assert_allclose(outputs, np.concatenate([t @ state for t in tables]), rtol=1e-5)


def test_residual_blocks_add_to_their_input():
    network = made(lambda key: ResidualMLP((3,), 8, 2, key=key))
    found = called(network, np.arange(3))
    network = jax.tree.map(np.asarray, network)
    x = network.first.weight @ np.arange(3.0) + network.first.bias
    for inner, outer, norm in network.blocks:
        y = x + outer.weight @ np.maximum(inner.weight @ x + inner.bias, 0) + outer.bias
        x = (y - y.mean()) / np.sqrt(y.var() + norm.eps)
    np.testing.assert_allclose(found, x, rtol=1e-4, atol=1e-5)
