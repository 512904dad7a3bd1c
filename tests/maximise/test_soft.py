"""Soft values, marginals, entropies, probabilities and draws against enumeration."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, make_mixer, maximiser
from hyperaction.maximise.elimination import Elimination
from hyperaction.maximise.program import Step
from tests.examples import examples
from tests.maximise.problems import KINDS, given_mask, plan, random_mask
from tests.modules import called, made
from tests.strategies import NEEDS_KERNEL, hypergraphs, outputs_for, slow_representation

WAYS = [*itertools.product([None], KINDS), ("components", KINDS[0]), ("enumeration", "jax")]
TEMPERATURES = np.array([0.3, 2.0, 40.0], np.float32)


class Boltzmann:
    """The distribution of one state's joint actions, by listing them."""

    def __init__(self, hypergraph, outputs, temperature, mask=None):
        self.actions = hypergraph.all_actions()
        outputs = np.asarray(outputs, float)
        rows = [slow_representation(hypergraph, outputs, action) for action in self.actions]
        values = np.sum(rows, axis=-1) / temperature
        if mask is not None:
            fits = [all(slow_representation(hypergraph, mask, action)) for action in self.actions]
            values = np.where(fits, values, -np.inf)
        self.any = (values > -np.inf).any()
        if not self.any:
            return
        weights = np.exp(values - values.max())
        self.value = temperature * (values.max() + np.log(weights.sum()))
        self.probabilities = weights / weights.sum()
        logs = np.log(self.probabilities, where=weights > 0, out=np.zeros(len(weights)))
        self.entropy = -(self.probabilities * logs).sum()
        self.marginals = np.zeros(hypergraph.num_outputs)
        places = hypergraph.indices(self.actions)
        np.add.at(self.marginals, places, self.probabilities[:, None])


@pytest.mark.parametrize(("way", "kind"), WAYS)
@settings(max_examples=examples(3))
@given(hypergraph=hypergraphs(max_vertices=4), seed=st.integers(0, 99))
def test_soft_values_marginals_and_entropies_equal_enumeration(way, kind, hypergraph, seed):
    outputs = outputs_for(hypergraph, (3,), seed)
    mask = random_mask(hypergraph, 3, seed, 0.8)
    mask[0] = True
    best = plan(hypergraph, kind=kind, way=way)

    @jax.jit
    def everything(outputs, mask):
        given, mask = (outputs, TEMPERATURES), given_mask(hypergraph, mask)
        return (
            best.soft(*given, mask=mask),
            best.marginals(*given, mask=mask),
            best.entropy(*given, mask=mask),
        )

    values, marginals, entropies = map(np.asarray, everything(outputs, mask))
    for row, temperature in enumerate(TEMPERATURES):
        truth = Boltzmann(hypergraph, outputs[row], temperature, mask[row])
        if not truth.any:
            assert values[row] == -np.inf
            assert (marginals[row] == 0.0).all()
            continue
        assert values[row] == pytest.approx(truth.value, rel=1e-5, abs=1e-4)
        np.testing.assert_allclose(marginals[row], truth.marginals, atol=2e-5)
        assert entropies[row] == pytest.approx(truth.entropy, rel=1e-4, abs=2e-4)


LOOP = Hypergraph((3, 2, 3, 2), [(0, 1), (1, 2), (2, 3), (0, 3), (0,)])
CONDITIONED = (Step(0, True), Step(3, True), Step(1, False), Step(2, False))


def conditioned():
    """The loop with two vertices conditioned on, which cuts it open."""
    return maximiser(LOOP, way=Elimination(cost=0.0, steps=CONDITIONED))


LOOPS = [
    pytest.param(lambda: plan(LOOP, kind="jax"), id="jax"),
    pytest.param(lambda: plan(LOOP), id="native", marks=NEEDS_KERNEL),
    pytest.param(conditioned, id="conditioned", marks=NEEDS_KERNEL),
    pytest.param(lambda: plan(LOOP, way="enumeration"), id="enumeration"),
]
PARTS = Hypergraph((3, 2, 2, 3), [(0,), (1, 2), (2,), (3,)])
ALONE = Hypergraph.complete((3, 2, 4), 1)
KERNEL_AND_TWIN = [LOOPS[0], LOOPS[2]]
MAKERS = [
    *LOOPS,
    pytest.param(lambda: maximiser(PARTS), id="components"),
    pytest.param(lambda: maximiser(ALONE), id="decentralised"),
]


@pytest.mark.parametrize("make", LOOPS)
def test_the_gradient_is_the_marginals_and_agrees_with_finite_differences(make):
    best = make()
    outputs = outputs_for(LOOP, (2,), 4) / 5
    soft = jax.jit(lambda o, t: best.soft(o, t).sum())

    @jax.jit
    def everything(outputs, temperature):
        slopes, entropy = jax.grad(soft, argnums=(0, 1))(outputs, temperature)
        own = best.marginals(outputs, temperature), best.entropy(outputs, temperature).sum()
        return (slopes, entropy), own

    found, expected = jax.tree.map(np.asarray, everything(outputs, np.float32(0.8)))
    slopes, entropy = found
    np.testing.assert_allclose(slopes, expected[0], atol=1e-5)
    assert entropy == pytest.approx(float(expected[1]), rel=1e-4)
    step = np.float32(0.02)
    for place in ((0, 0), (1, 7), (0, LOOP.num_outputs - 1)):
        moved = []
        for sign in (1, -1):
            other = outputs.copy()
            other[place] += sign * step
            moved.append(soft(other, 0.8))
        assert slopes[place] == pytest.approx(float(moved[0] - moved[1]) / (2 * step), abs=2e-3)
    warmer, colder = soft(outputs, 0.82), soft(outputs, 0.78)
    assert entropy == pytest.approx(float(warmer - colder) / 0.04, rel=1e-2)


@pytest.mark.parametrize("make", KERNEL_AND_TWIN)
def test_probabilities_of_all_actions_add_up_to_one(make):
    best = make()
    mask = random_mask(LOOP, 1, 3, 0.9)[0]
    outputs, actions = outputs_for(LOOP, (), 4), LOOP.all_actions()
    many = np.broadcast_to(outputs, (len(actions), LOOP.num_outputs))
    logs = np.asarray(called(lambda o: best.log_probability(o, actions, 3.0, mask=mask), many))
    truth = Boltzmann(LOOP, outputs, 3.0, mask).probabilities
    np.testing.assert_allclose(np.exp(logs), truth, atol=1e-5)
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-4)
    assert 0 < (truth == 0).sum() == (logs == -np.inf).sum()


@pytest.mark.parametrize(
    ("make", "approximate"),
    [
        *[pytest.param(*each.values, False, id=each.id, marks=each.marks) for each in MAKERS],
        pytest.param(lambda: maximiser(ALONE), True, id="perturbed at rank 1"),
    ],
)
def test_draws_have_the_frequencies_of_their_probabilities(make, approximate):
    """Chi-squared over all joint actions, rare ones together."""
    best, count = make(), 6000
    hypergraph = best.hypergraph
    outputs = outputs_for(hypergraph, (), 4) / 10
    mask = np.ones(hypergraph.num_outputs, bool)
    mask[[1, -1]] = False
    many = np.broadcast_to(outputs, (count, hypergraph.num_outputs))
    draw = jax.jit(lambda o, k: best.sample(o, 0.9, k, mask=mask, approximate=approximate))
    actions = np.asarray(draw(many, jax.random.key(3)))
    numbers = np.ravel_multi_index(actions.T, hypergraph.sizes)
    counts = np.bincount(numbers, minlength=hypergraph.num_actions)
    truth = count * Boltzmann(hypergraph, outputs, 0.9, mask).probabilities
    assert (counts[truth == 0] == 0).all()
    rare = truth < 8
    seen = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(truth[~rare], truth[rare].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    freedom = len(expected) - 1
    assert freedom >= 5
    # Four standard deviations of the statistic.
    assert ((seen - expected) ** 2 / expected).sum() < freedom + 4 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("make", [*KERNEL_AND_TWIN, *MAKERS[-2:]])
def test_at_temperature_zero_the_soft_is_the_hard(make):
    best = make()
    outputs = outputs_for(best.hypergraph, (20,), 5)  # optima repeat

    @jax.jit
    def everything(outputs, temperature):
        given = (outputs, temperature)
        values, actions = best.value_and_action(outputs)
        others = (actions + 1) % np.array(best.hypergraph.sizes)
        logs = [best.log_probability(outputs, each, temperature) for each in (actions, others)]
        drawn = best.sample(*given, jax.random.key(0))
        return (
            (values, actions),
            (best.soft(*given), drawn, best.entropy(*given), best.marginals(*given)),
            logs,
        )

    found = jax.tree.map(np.asarray, everything(outputs, np.float32(0.0)))
    (values, actions), (soft, drawn, entropy, marginals), (logs, others) = found
    np.testing.assert_allclose(soft, values, rtol=1e-5)
    nearly = everything(outputs, np.float32(1e-4))[1][0]
    np.testing.assert_allclose(nearly, values, rtol=1e-4)
    np.testing.assert_array_equal(drawn, actions)
    np.testing.assert_array_equal(entropy, np.zeros(20))
    np.testing.assert_array_equal(logs, np.zeros(20))
    assert (others == -np.inf).all()
    # All probability is on entries of best actions, which may share it.
    mean = (marginals * outputs).sum(axis=-1)
    np.testing.assert_allclose(mean, values, rtol=1e-5)


@pytest.mark.parametrize("make", [*KERNEL_AND_TWIN, MAKERS[-1]])
def test_works_alone_in_batches_and_under_vmap(make):
    best = make()
    outputs = outputs_for(best.hypergraph, (2, 5), 6)
    warm = np.linspace(0.5, 3.0, 10, dtype=np.float32).reshape(2, 5)
    values = best.soft(outputs, warm)
    mapped = jax.jit(jax.vmap(jax.vmap(best.soft)))(outputs, warm)
    np.testing.assert_allclose(mapped, values, rtol=1e-5)
    np.testing.assert_allclose(best.soft(outputs[1, 3], warm[1, 3]), values[1, 3], rtol=1e-5)
    slopes = jax.vmap(jax.vmap(jax.grad(best.soft), in_axes=(0, None)), in_axes=(0, None))
    marginals = best.marginals(outputs, 2.0)
    assert marginals.shape == outputs.shape
    np.testing.assert_allclose(called(slopes, outputs, 2.0), marginals, atol=1e-5)
    keys = jax.random.split(jax.random.key(0), 2)
    drawn = called(jax.vmap(lambda o, k: best.sample(o, 1.0, k)), outputs, keys)
    alone = [best.sample(o, 1.0, k) for o, k in zip(outputs, keys, strict=True)]
    np.testing.assert_array_equal(drawn, np.stack(alone))
    empty = best.marginals(outputs[:0, 0], 1.0), best.sample(outputs[:0, 0], 1.0, keys[0])
    assert empty[0].shape == (0, best.hypergraph.num_outputs)
    assert empty[1].shape == (0, best.hypergraph.num_vertices)


@pytest.mark.parametrize("name", ["monotonic-linear", "qmix"])
def test_every_mixer_weighs_in(name):
    hypergraph = Hypergraph((2, 3, 2), [(0, 1), (1, 2), (1,)])
    mixer = made(lambda key: make_mixer(name, hypergraph, features=2, key=key), 1)
    best = maximiser(hypergraph, mixer)
    outputs = outputs_for(hypergraph, (3,), 2) / 5
    state = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)
    mask = np.ones((3, 7), bool)
    mask[:, 1] = False

    def brute(outputs):
        actions = hypergraph.all_actions()
        values = jax.vmap(jax.vmap(mixer, in_axes=(0, None)))(
            hypergraph.representation(outputs[:, None], actions[None]), state
        )
        values = jnp.where(actions[:, 0] == 0, values, -jnp.inf)
        return 0.5 * jax.nn.logsumexp(values / 0.5, axis=-1)

    def soft(outputs):
        return best.soft(outputs, 0.5, mask=mask, state=state)

    @jax.jit
    def both(outputs):
        slopes = [jax.grad(lambda o, f=f: f(o).sum())(outputs) for f in (soft, brute)]
        return (soft(outputs), brute(outputs)), slopes

    values, slopes = both(outputs)
    np.testing.assert_allclose(*values, rtol=1e-4)
    np.testing.assert_allclose(*slopes, atol=1e-4)


@pytest.mark.parametrize("make", KERNEL_AND_TWIN)
def test_infinite_forbidden_and_missing_values_are_as_in_the_maximum(make):
    best = make()
    outputs = np.zeros((2, LOOP.num_outputs), np.float32)
    outputs[1, 1], outputs[1, 2] = np.inf, -np.inf
    np.testing.assert_array_equal(best.soft(outputs, 1.0) == np.inf, [False, True])
    assert best.marginals(outputs, 1.0)[1, 1] == pytest.approx(1.0)
    assert best.marginals(outputs, 1.0)[1, 2] == 0.0
    hidden = np.ones_like(outputs, bool)
    hidden[:, 1], outputs[0, 1] = False, np.nan
    np.testing.assert_allclose(best.soft(outputs, 1.0, mask=hidden), np.log([30, 24]), rtol=1e-5)
    with pytest.raises(ValueError, match="the outputs of state 0 hold NaN"):
        best.soft(outputs, 1.0)
    nothing = np.zeros((2, 10), bool)
    with pytest.raises(ValueError, match="the mask of state 0 leaves no action"):
        best.sample(outputs, 1.0, jax.random.key(0), mask=nothing)
    inside = jax.jit(lambda o, t: (best.soft(o, t), best.sample(o, t, jax.random.key(0))))
    values, actions = inside(outputs, 1.0)
    np.testing.assert_array_equal(np.isnan(values), [True, False])
    assert (np.asarray(actions[0]) == -1).all()
    values, actions = inside(outputs[1:], -1.0)
    assert np.isnan(values).all()
    assert (np.asarray(actions) == -1).all()


def test_large_values_and_small_temperatures_stay_finite():
    outputs = outputs_for(LOOP, (8,), 4) * np.float32(1e6)
    for kind in KINDS:
        best = plan(LOOP, kind=kind)
        for temperature in (1e-30, 1.0, 1e12):
            assert np.isfinite(best.soft(outputs, temperature)).all()
            marginals = np.asarray(best.marginals(outputs, temperature))
            for part in LOOP.slices:
                np.testing.assert_allclose(marginals[:, part].sum(axis=-1), 1.0, rtol=1e-4)


def test_what_cannot_be_done_is_refused_in_one_line():
    outputs = np.zeros(LOOP.num_outputs, np.float32)
    best = maximiser(LOOP)
    for wrong in (-1.0, np.nan, np.inf, [1.0, -1.0], "1", 1j):
        with pytest.raises(ValueError, match="it must be finite and at least 0"):
            best.soft(outputs, wrong)
    with pytest.raises(ValueError, match=r"temperature has shape \(3,\), but the outputs have"):
        best.soft(np.zeros((2, LOOP.num_outputs)), np.ones(3))
    with pytest.raises(ValueError, match="sub-action 5 of vertex 0 is out of range"):
        best.log_probability(outputs, [5, 0, 0, 0], 1.0)
    dense = maximiser(Hypergraph.complete((5,) * 17, 2))
    with pytest.raises(ValueError, match=r"ascent gives no exact soft values: .*approximate=True"):
        dense.soft(np.zeros(dense.hypergraph.num_outputs), 1.0)
    universal = make_mixer("universal", dense.hypergraph, features=1, key=jax.random.key(0))
    mixed = maximiser(Hypergraph.complete((5,) * 17, 2), universal)
    for approximate in (False, True):
        with pytest.raises(ValueError, match=r"not a weighted sum|need a mixer that is a weighted"):
            mixed.sample(
                np.zeros(mixed.hypergraph.num_outputs),
                1.0,
                jax.random.key(0),
                approximate=approximate,
            )


def test_approximate_draws_reach_past_elimination():
    hypergraph = Hypergraph.complete((5,) * 17, 2)
    best = maximiser(hypergraph)
    outputs = outputs_for(hypergraph, (4,), 2)
    draw = jax.jit(lambda t, k: best.sample(outputs, t, k, approximate=True))
    np.testing.assert_array_equal(draw(0.0, jax.random.key(0)), best.argmax(outputs))
    warm = [np.asarray(draw(50.0, jax.random.key(seed))) for seed in (0, 1)]
    assert (warm[0] != warm[1]).any(axis=-1).all()
