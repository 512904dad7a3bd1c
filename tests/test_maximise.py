import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, Mean, Sum, make_mixer, maximiser
from hyperaction.bench.maximise import toulbar_optima
from hyperaction.maximise import WAYS, entry_mask, random_actions
from hyperaction.mixers import MIXERS
from tests.strategies import (
    HAS_KERNEL,
    NEEDS_KERNEL,
    hypergraphs,
    outputs_for,
    slow_representation,
    slow_values,
)

KINDS = ["native", "jax"] if HAS_KERNEL else ["jax"]
EXACT = [
    *itertools.product([None, "elimination", "components"], KINDS),
    ("enumeration", "jax"),
]


def plan(hypergraph, mixer=Sum(), kind="native", **options):
    return maximiser(hypergraph, mixer, use_native=kind == "native" and HAS_KERNEL, **options)


def assert_best(hypergraph, outputs, values, actions, mix=sum, allowed=None):
    """Values and actions are the brute-force maximum over allowed actions, for a batch."""
    for row, (one, value, action) in enumerate(
        zip(outputs, np.asarray(values), np.asarray(actions), strict=True)
    ):
        reference = slow_values(hypergraph, one, mix)
        if allowed is not None:
            reference = {a: v for a, v in reference.items() if allowed(row, a)}
        scale = max(1.0, np.abs(one[np.isfinite(one)]).max(initial=0) * hypergraph.num_edges)
        if not reference:
            assert value == -np.inf
            assert (action == -1).all()
            continue
        assert abs(value - max(reference.values())) <= 1e-5 * scale
        assert abs(reference[tuple(action.tolist())] - value) <= 1e-5 * scale


def random_mask(hypergraph, batch, seed, share=0.7):
    random = np.random.default_rng(seed + 1000)
    return random.random((batch, hypergraph.num_outputs)) < share


def slow_allowed(hypergraph, mask):
    return lambda row, action: all(slow_representation(hypergraph, mask[row], action))


@pytest.mark.parametrize(("way", "kind"), EXACT)
@settings(max_examples=18)
@given(hypergraph=hypergraphs(), seed=st.integers(0, 99), scale=st.sampled_from([1.0, 1e6, 1e-6]))
def test_exact_ways_equal_brute_force(kind, way, hypergraph, seed, scale):
    outputs = outputs_for(hypergraph, (3,), seed) * np.float32(scale)
    best = plan(hypergraph, kind=kind, way=way)
    assert best.exact
    values, actions = best.value_and_action(outputs)
    assert_best(hypergraph, outputs, values, actions)
    np.testing.assert_array_equal(best.argmax(outputs), actions)
    np.testing.assert_array_equal(best.max(outputs), values)
    np.testing.assert_array_equal(best.bounded(outputs).upper_bound, values)


@pytest.mark.parametrize(("way", "kind"), EXACT)
@settings(max_examples=12)
@given(hypergraph=hypergraphs(), seed=st.integers(0, 99), share=st.sampled_from([0.95, 0.6, 0.3]))
def test_exact_ways_obey_masks_on_hyperedges(kind, way, hypergraph, seed, share):
    outputs = outputs_for(hypergraph, (4,), seed)
    mask = random_mask(hypergraph, 4, seed, share)
    best = plan(hypergraph, kind=kind, way=way)
    values, actions = jax.jit(lambda o, m: best.value_and_action(o, mask=m))(outputs, mask)
    assert_best(hypergraph, outputs, values, actions, allowed=slow_allowed(hypergraph, mask))


@settings(max_examples=12)
@given(hypergraph=hypergraphs(), seed=st.integers(0, 99), name=st.sampled_from(sorted(MIXERS)))
def test_every_mixer_is_maximised_with_and_without_masks(hypergraph, seed, name):
    mixer_key, state_key = jax.random.split(jax.random.key(seed))
    mixer = make_mixer(name, num_edges=hypergraph.num_edges, features=3, key=mixer_key)
    state = jax.random.normal(state_key, (3, 3))
    outputs = outputs_for(hypergraph, (3,), seed) / 10
    best = plan(hypergraph, mixer)
    assert best.exact
    for mask in (None, random_mask(hypergraph, 3, seed, 0.8)):
        found = jax.jit(lambda o, s, m=mask: best.value_and_action(o, mask=m, state=s))
        values, actions = found(outputs, state)
        for row in range(3):
            every = hypergraph.representation(outputs[row], hypergraph.all_actions())
            mixed = jax.vmap(mixer, in_axes=(0, None))(jnp.asarray(every), state[row])
            if mask is not None:
                legal = hypergraph.representation(mask[row], hypergraph.all_actions()).all(axis=-1)
                mixed = jnp.where(legal, mixed, -jnp.inf)
            np.testing.assert_allclose(values[row], mixed.max(), rtol=1e-4, atol=1e-5)
            if np.isfinite(values[row]):
                flat = np.ravel_multi_index(tuple(actions[row]), hypergraph.sizes)
                np.testing.assert_allclose(mixed[flat], mixed.max(), rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize(
    ("hypergraph", "way"),
    [
        (Hypergraph.complete((5,) * 8, 2), None),
        (Hypergraph.complete((4,) * 7, 3), None),
        (Hypergraph((3,) * 40, [(v, v + 1) for v in range(39)]), None),
        (Hypergraph((4,) * 25, [(v, v + 1) for v in range(24) if v % 5 < 4]
                    + [(v, v + 5) for v in range(20)]), None),
        pytest.param(Hypergraph.complete((3,) * 14, 2), "branch-and-bound", marks=NEEDS_KERNEL),
        pytest.param(Hypergraph.complete((5,) * 12, 2), "ascent", marks=NEEDS_KERNEL),
    ],
    ids=["ant-r2", "seven-r3", "chain-40", "grid-5x5", "bnb-14", "ascent-12"],
)  # fmt: skip
def test_large_problems_agree_with_another_exact_solver(hypergraph, way):
    outputs = outputs_for(hypergraph, (3,), 4) / 10
    values = plan(hypergraph, way=way).max(outputs)
    _, expected = toulbar_optima(hypergraph, outputs)
    np.testing.assert_allclose(values, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("edges", "vertices", "largest_cost"),
    [
        ([(v, v + 1) for v in range(39)], 40, 3_000),
        ([(0, v) for v in range(1, 40)], 40, 3_000),
        ([((v - 1) // 2, v) for v in range(1, 40)], 40, 3_000),
        ([(v, (v + 1) % 40, (v + 2) % 40) for v in range(40)], 40, 300_000),
    ],
    ids=["chain", "star", "tree", "ring of triples"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_hypergraphs_of_forty_vertices_cost_little(edges, vertices, largest_cost, kind):
    hypergraph = Hypergraph((5,) * vertices, edges)
    best = plan(hypergraph, kind=kind)
    assert best.exact
    assert best.name == "elimination"
    assert best.cost <= largest_cost


@NEEDS_KERNEL
def test_both_eliminations_find_the_same_on_sparse_hypergraphs():
    edges = [(v, (v + 1) % 12, (v + 2) % 12) for v in range(12)] + [(3, 9)]
    hypergraph = Hypergraph((3, 2, 4) * 4, edges)
    outputs = outputs_for(hypergraph, (40,), 2)
    found = [plan(hypergraph, kind=kind).value_and_action(outputs) for kind in KINDS]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(
    ("hypergraph", "mixer", "name"),
    [
        (Hypergraph.complete((5,) * 40, 1), "sum", "decentralised"),
        (Hypergraph.complete((5,) * 40, 1), "qmix", "decentralised"),
        (Hypergraph.complete((5,) * 3, 1), "universal", "enumeration"),
        (Hypergraph.complete((5,) * 40, 1), "universal", "sampling"),
        (Hypergraph.complete((5,) * 8, 2), "monotonic", "enumeration"),
        (Hypergraph.complete((5,) * 8, 3), "monotonic-linear", "elimination"),
        (Hypergraph((5,) * 6, [(0, 1), (2, 3), (3, 4), (5,)]), "mean", "components"),
        (Hypergraph.complete((5,) * 17, 2), "sum", "ascent"),
    ],
)
def test_the_planner_takes_the_cheapest_exact_way_and_says_why(hypergraph, mixer, name):
    made = make_mixer(mixer, num_edges=hypergraph.num_edges, features=2, key=jax.random.key(0))
    best = maximiser(hypergraph, made)
    assert best.name == name
    assert best.exact == (name not in ("ascent", "sampling"))
    assert best.explain().startswith(f"{name} ({'exact' if best.exact else 'approximate'}, about ")
    assert best.cost > 0


def test_a_larger_budget_buys_exactness():
    hypergraph = Hypergraph.complete((5,) * 8, 2)
    assert maximiser(hypergraph).exact
    assert not maximiser(hypergraph, budget=1e3).exact
    assert "budget of 1,000 adds" in maximiser(hypergraph, budget=1e3).explain()


@pytest.mark.parametrize(
    ("way", "hypergraph", "mixer", "message"),
    [
        ("eliminate", Hypergraph.complete((2, 2), 2), Sum(), "did you mean 'elimination'"),
        ("decentralised", Hypergraph.complete((2, 2), 2), Sum(), r"rank 1 \(this is rank 2\)"),
        ("elimination", Hypergraph.complete((5,) * 17, 2), Sum(), "elimination cannot fit"),
        ("enumeration", Hypergraph.complete((5,) * 17, 2), Sum(), "762,939,453,125 joint actions"),
        ("branch-and-bound", Hypergraph.complete((2,) * 3, 3), Sum(), "rank 2 at most"),
    ],
)
def test_ways_that_do_not_fit_are_refused_with_what_would(way, hypergraph, mixer, message):
    with pytest.raises(ValueError, match=message):
        maximiser(hypergraph, mixer, way=way)


def test_sums_only_ways_refuse_other_mixers():
    mixer = make_mixer("universal", num_edges=3, features=1, key=jax.random.key(0))
    for way in ("elimination", "components", "ascent", "branch-and-bound"):
        with pytest.raises(ValueError, match=f"{way} needs a mixer that is a weighted sum"):
            maximiser(Hypergraph.complete((2, 2), 2), mixer, way=way)


def each_way(sizes=(3, 2, 3)):
    """A maximiser of every way, with a hypergraph that it takes."""
    for way, kind in itertools.product(WAYS, KINDS):
        if way == "branch-and-bound" and kind == "jax":
            continue  # It is in the kernel only.
        rank = 1 if way == "decentralised" else 2
        yield plan(Hypergraph.complete(sizes, rank), way=way, kind=kind)


@pytest.mark.parametrize("best", list(each_way()), ids=lambda best: best.way.__class__.__name__)
class TestEveryWay:
    def test_works_alone_in_batches_and_under_vmap(self, best):
        outputs = jnp.asarray(outputs_for(best.hypergraph, (2, 5), 6))
        values, actions = best.value_and_action(outputs)
        assert values.shape == (2, 5)
        assert actions.shape == (2, 5, 3)
        mapped = jax.jit(jax.vmap(jax.vmap(best.value_and_action)))(outputs)
        one = best.value_and_action(outputs[1, 3])
        np.testing.assert_allclose(mapped[0], values, rtol=1e-6)
        np.testing.assert_array_equal(mapped[1], actions)
        np.testing.assert_array_equal(one[1], actions[1, 3])

    def test_is_differentiable_in_the_chosen_outputs(self, best):
        outputs = jnp.asarray(outputs_for(best.hypergraph, (4,), 6))
        gradient = jax.grad(lambda o: best.max(o).sum())(outputs)
        indices = best.hypergraph.indices(best.argmax(outputs))
        expected = np.zeros(outputs.shape)
        np.put_along_axis(expected, np.asarray(indices), 1.0, axis=1)
        np.testing.assert_array_equal(gradient, expected)

    def test_nan_raises_outside_and_stays_nan_inside(self, best):
        outputs = outputs_for(best.hypergraph, (4,), 6)
        outputs[2, 1] = np.nan
        with pytest.raises(ValueError, match="the outputs of state 2 hold NaN"):
            best.max(outputs)
        values, actions = jax.jit(best.value_and_action)(outputs)
        np.testing.assert_array_equal(np.isnan(values), [False, False, True, False])
        assert (np.asarray(actions[2]) == -1).all()
        assert (np.asarray(actions)[[0, 1, 3]] >= 0).all()

    def test_a_mask_that_leaves_nothing_raises_outside_and_is_minus_infinity_inside(self, best):
        outputs = outputs_for(best.hypergraph, (4,), 6)
        mask = np.ones((4, sum(best.hypergraph.sizes)), bool)
        mask[1, 3:5] = False  # both sub-actions of vertex 1
        with pytest.raises(
            ValueError,
            match=r"the mask of state 1 leaves no action|no allowed action of state 1 was found",
        ):
            best.argmax(outputs, mask=mask)
        values, actions = jax.jit(lambda o, m: best.value_and_action(o, mask=m))(outputs, mask)
        np.testing.assert_array_equal(values == -np.inf, [False, True, False, False])
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
        outputs = np.zeros((1, best.hypergraph.num_outputs), np.float32)
        outputs[0, 1] = np.inf
        mask = np.ones((1, 8), bool)
        mask[0, 1] = False
        assert best.max(outputs, mask=mask) == 0.0
        assert best.max(outputs) == np.inf
        outputs[0, 0] = -np.inf
        assert best.max(outputs, mask=mask) == 0.0

    def test_large_equal_outputs_do_not_hide_the_mask(self, best):
        outputs = np.full((1, best.hypergraph.num_outputs), -3e7, np.float32)
        mask = np.array([[False, True, True, False, True, False, True, True]])
        _, actions = best.value_and_action(outputs, mask=mask)
        assert (np.asarray(actions) > 0).all()

    def test_wrong_shapes_are_refused(self, best):
        outputs = outputs_for(best.hypergraph, (2,), 6)
        with pytest.raises(ValueError, match="one per output of the hypergraph"):
            best.max(outputs[:, :-1])
        with pytest.raises(ValueError, match="one per hyperedge entry, or 8, one per sub-action"):
            best.max(outputs, mask=np.ones((2, 5), bool))
        with pytest.raises(ValueError, match=r"the mask has shape \(3, .* have \(2,\) states"):
            best.max(outputs, mask=np.ones((3, 8), bool))
        with pytest.raises(ValueError, match=r"the state has shape \(3, 4\)"):
            best.max(outputs, state=np.ones((3, 4), np.float32))
        with pytest.raises(ValueError, match="sub-action 7 of vertex 0 is out of range"):
            best.max(outputs, candidates=[[7, 0, 0]])
        with pytest.raises(ValueError, match="outputs are real numbers, not complex64"):
            best.max(outputs.astype(np.complex64))


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


def test_one_large_table_is_maximised_exactly():
    for sizes in ((5,) * 9, (2,) * 21):
        best = plan(Hypergraph.of_orders(sizes, (-1,)))
        assert best.exact
    outputs = np.zeros((2, 2**21), np.float32)
    outputs[[0, 1], [77, 2**20 + 5]] = 1.0
    actions = best.argmax(outputs)
    np.testing.assert_array_equal(
        np.ravel_multi_index(np.asarray(actions).T, sizes), [77, 2**20 + 5]
    )


def test_doubles_keep_their_precision():
    hypergraph = Hypergraph.complete((3,) * 4, 2)
    with jax.enable_x64(True):
        outputs = np.random.default_rng(0).normal(size=(50, hypergraph.num_outputs)) + 1e7
        values = plan(hypergraph).max(outputs)
        every = hypergraph.representation(outputs[:, None], hypergraph.all_actions()[None])
        np.testing.assert_allclose(values, every.sum(axis=-1).max(axis=1), rtol=1e-14)


def test_planning_large_sparse_hypergraphs_finds_the_cheap_program():
    hypergraph = Hypergraph((5,) * 400, [(v, v + 1) for v in range(399)])
    assert plan(hypergraph).cost < 30_000
    assert not plan(Hypergraph.complete((3,) * 38, 3)).exact


def test_vmap_over_mixers_is_allowed():
    hypergraph = Hypergraph.complete((3, 2), 2)
    keys = jax.random.split(jax.random.key(0), 4)

    def make(key):
        return make_mixer("universal", num_edges=3, features=1, key=key)

    outputs = jnp.asarray(outputs_for(hypergraph, (4, 5), 2))
    mapped = jax.vmap(lambda key, o: maximiser(hypergraph, make(key)).max(o))(keys, outputs)
    alone = [maximiser(hypergraph, make(key)).max(o) for key, o in zip(keys, outputs, strict=True)]
    np.testing.assert_allclose(mapped, np.stack(alone), rtol=1e-5)


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
    actions = jax.vmap(lambda key: random_actions(hypergraph, key, jnp.asarray(mask)))(keys)
    assert (np.asarray(actions) == np.asarray(actions)[:, :1]).all()
    assert len(set(np.asarray(actions)[:, 0].tolist())) == 6
    with pytest.raises(ValueError, match="leaves no action"):
        random_actions(hypergraph, keys[0], jnp.zeros(hypergraph.num_outputs, bool))
    with pytest.raises(ValueError, match="a shape or masks, not both"):
        random_actions(hypergraph, keys[0], jnp.asarray(mask), shape=(5,))
    unmasked = random_actions(hypergraph, keys[0], shape=(500,))
    assert unmasked.shape == (500, 6)
    assert set(np.unique(unmasked)) == set(range(6))


@settings(max_examples=20)
@given(hypergraph=hypergraphs(), seed=st.integers(0, 99))
def test_a_mask_on_sub_actions_allows_what_its_entries_allow(hypergraph, seed):
    mask = np.random.default_rng(seed).random(sum(hypergraph.sizes)) < 0.6
    entries = np.asarray(entry_mask(hypergraph, jnp.asarray(mask)))
    starts = np.concatenate([[0], np.cumsum(hypergraph.sizes)[:-1]])
    for action in hypergraph.all_actions():
        expected = all(mask[starts + action])
        assert all(slow_representation(hypergraph, entries, action)) == expected
