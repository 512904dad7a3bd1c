"""The head in PyTorch against the network in JAX with the same weights."""

import copy

import equinox as eqx
import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hyperaction import Hypergraph, QNetwork, make_mixer  # noqa: E402
from hyperaction.errors import SettingError  # noqa: E402
from hyperaction.torch import HypergraphHead  # noqa: E402
from tests.modules import made  # noqa: E402

FEATURES = 6
UNEVEN = Hypergraph((3, 2, 4, 3), [(1,), (0, 3), (0,), (2,), (0, 1, 2), (2, 3), (3,)])
"""Tables of several sizes, in no order: stacks, padding and gathering."""


def pair(width=5, mixer="sum", hypergraph=UNEVEN):
    """A network in JAX whose features are its observations, and a head with its weights."""

    def make(key):
        mixing = make_mixer(mixer, hypergraph, features=FEATURES, key=key)
        options = {"mixer": mixing, "width": width, "features": FEATURES, "key": key}
        return QNetwork(hypergraph, eqx.nn.Identity(), **options)

    network = made(make)
    return network, HypergraphHead.from_blocks(network.blocks, mixer)


def batch(count=7, seed=0):
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, FEATURES)).astype(np.float32)
    return features, random.integers(UNEVEN.sizes, size=(count, len(UNEVEN.sizes)))


def computed_in_jax(network, features, actions):
    """Outputs, values, best actions, best values, and gradients of a loss of both values."""

    def loss(network, features):
        gained = jax.vmap(network)(features, actions) - jax.vmap(network.max)(features)
        return (gained**2).sum()

    gradients = jax.grad(loss, argnums=(0, 1))(network, features)
    found = [jax.vmap(network.outputs)(features), jax.vmap(network)(features, actions)]
    found += [jax.vmap(network.greedy)(features), jax.vmap(network.max)(features)]
    return *found, *gradients


@pytest.mark.parametrize(("mixer", "width"), [("sum", 5), ("mean", 0), ("order-mean", 5)])
def test_values_greedy_actions_and_gradients_are_those_of_jax(mixer, width):
    network, head = pair(width, mixer)
    features, actions = batch()
    x, a = torch.tensor(features, requires_grad=True), torch.tensor(actions)
    outputs, q, greedy, best, of_network, of_features = jax.jit(computed_in_jax)(
        network, features, actions
    )
    close = {"rtol": 1e-3, "atol": 1e-4}
    np.testing.assert_allclose(head(x).detach(), outputs, **close)
    np.testing.assert_allclose(head.q_values(x, a).detach(), q, **close)
    np.testing.assert_array_equal(head.greedy(x), greedy)
    np.testing.assert_allclose(head.max(x).detach(), best, **close)
    (head.q_values(x, a) - head.max(x)).square().sum().backward()
    np.testing.assert_allclose(x.grad, of_features, **close)
    for own, other in zip(head.weights, of_network.blocks.weights, strict=True):
        np.testing.assert_allclose(own.grad, other, **close)
    np.testing.assert_allclose(head.biases.grad, of_network.blocks.biases, **close)


def test_learned_weights_mix_and_learn():
    head = HypergraphHead(UNEVEN, FEATURES, mixer="monotonic-linear")
    with torch.no_grad():
        head.mixer.out.bias.fill_(3.0)
    features, _ = batch()
    x = torch.tensor(features)
    values, actions = head.maximise(x)
    torch.testing.assert_close(values, head.q_values(x, actions))
    every = torch.from_numpy(UNEVEN.all_actions()).long()
    listed = head.q_values(x[:, None], every)
    assert listed.shape == (7, UNEVEN.num_actions)
    torch.testing.assert_close(values, listed.max(dim=1).values)
    values.sum().backward()
    assert head.mixer.out.weight.grad.abs().min() > 0
    assert head.mixer.out.bias.grad.item() == 7


@pytest.mark.parametrize("width", [0, 40])
def test_weights_start_as_in_jax(width):
    """Uniform between the same limits, zero where tables are padded, biases zero."""
    torch.manual_seed(0)
    head = HypergraphHead(UNEVEN, FEATURES, width)
    network, _ = pair(width)
    for own, other in zip(head.weights, network.blocks.weights, strict=True):
        assert own.shape == other.shape
        np.testing.assert_array_equal(own.detach() == 0, np.asarray(other) == 0)
        limits = np.abs(other).max(axis=(1, 2))
        np.testing.assert_allclose(own.detach().abs().amax(dim=(1, 2)), limits, rtol=0.25)
    if width:
        limit = (6 / (FEATURES + width)) ** 0.5
        assert 0.95 * limit < head.hidden.weight.abs().max() <= limit
        assert not head.hidden.bias.any()
    assert not head.biases.any()


def test_masks_reach_the_greedy_action():
    _, head = pair()
    features, _ = batch()
    mask = torch.ones(7, sum(UNEVEN.sizes), dtype=torch.bool)
    mask[:, [0, 2]] = False
    actions = head.greedy(torch.tensor(features), mask)
    assert (actions[:, 0] == 1).all()
    assert not (head.greedy(torch.tensor(features))[:, 0] == 1).all()


def test_a_copy_and_a_state_dict_make_equal_heads():
    head = HypergraphHead(UNEVEN, FEATURES, mixer="mean")
    features = torch.tensor(batch()[0])
    other = HypergraphHead(UNEVEN, FEATURES, mixer="mean")
    assert not torch.equal(other(features), head(features))
    other.load_state_dict(head.state_dict())
    for same in (other, copy.deepcopy(head)):
        torch.testing.assert_close(same.max(features), head.max(features))


def test_types_follow_the_module():
    head = HypergraphHead(UNEVEN, FEATURES, mixer="mean").double()
    values, _ = head.maximise(torch.tensor(batch()[0]).double())
    assert values.dtype == torch.float64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda head: head(torch.zeros(3, 5)),
            "features has shape (3, 5); its last axis must be 6",
        ),
        (
            lambda head: head.q_values(torch.zeros(6), torch.zeros(4)),
            "actions must be integers (sub-actions), not torch.float32",
        ),
        (
            lambda head: head.q_values(torch.zeros(6), torch.tensor([0, 2, 0, 0])),
            "actions: sub-action 2 of vertex 1 is out of range (0 to 1)",
        ),
        (
            lambda head: HypergraphHead(UNEVEN, 6, mixer="universal"),
            "mixer: unknown mixer 'universal'; choose from sum, mean, order-mean, monotonic-linear",
        ),
        (lambda head: HypergraphHead(UNEVEN, 0), "features 0 must be at least 1"),
    ],
)
def test_mistakes_are_named_in_one_line(call, message):
    with pytest.raises(SettingError) as caught:
        call(HypergraphHead(UNEVEN, FEATURES))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
