"""Constraints of every form against brute force, in every way of maximising and drawing."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, Mean, Universal, maximiser
from hyperaction.constraints import Cardinality, Constraints, Mask
from hyperaction.maximise import random_actions
from tests.examples import examples
from tests.maximise.problems import KINDS, plan
from tests.modules import called, made
from tests.strategies import hypergraphs, slow_representation, slow_values

STATES = 8


def random_constraints(sizes, random):
    """Tables that hold always, counts, and masks of some scopes, all by chance."""
    n = len(sizes)

    def scope():
        return tuple(sorted(random.permutation(n)[: random.integers(1, min(n, 3) + 1)].tolist()))

    def table(scope):
        return random.random([sizes[v] for v in scope]) < 0.8

    given = [{s: table(s)} for s in (scope() for _ in range(random.integers(0, 3)))]
    for _ in range(random.integers(0, 3)):
        counted = tuple(int(v) for v in random.permutation(n)[: random.integers(1, n + 1)])
        low, high = sorted(random.integers(0, len(counted) + 1, 2).tolist())
        default = tuple(int(random.integers(sizes[v])) for v in counted)
        at_most = None if random.random() < 0.3 else high
        given.append(Cardinality(at_most, low, counted, default))
    always = Constraints.of(sizes, given)
    scopes = tuple(dict.fromkeys(s for s in (scope(), scope()) if len(s) > 1))
    constraints = Constraints(always.sizes, scopes, always.fixed, always.cardinalities)
    masks = random.random((STATES, constraints.num_entries)) < 0.85
    return constraints, masks, given


def slow_allows(constraints, given, mask, action):
    """From the constraints as they were given, and the mask entry by entry."""
    for one in given:
        if isinstance(one, Cardinality):
            others = sum(action[v] != d for v, d in zip(one.vertices, one.default, strict=True))
            if others < one.at_least or (one.at_most is not None and others > one.at_most):
                return False
        else:
            for scope, table in one.items():
                if not table[tuple(action[v] for v in scope)]:
                    return False
    place = 0
    for scope in (*((v,) for v in range(len(constraints.sizes))), *constraints.scopes):
        shape = [constraints.sizes[v] for v in scope]
        entry = 0
        for v, size in zip(scope, shape, strict=True):
            entry = entry * size + action[v]
        if not mask[place + entry]:
            return False
        place += math.prod(shape)
    return True


def allowed_values(hypergraph, outputs, constraints, masks, given, mix=sum):
    return [
        {
            action: value
            for action, value in slow_values(hypergraph, row, mix).items()
            if slow_allows(constraints, given, mask, action)
        }
        for row, mask in zip(outputs, masks, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(8))
@given(hypergraph=hypergraphs(), seed=st.integers(0, 9999))
def test_the_best_allowed_action_is_found(kind, hypergraph, seed):
    random = np.random.default_rng(seed)
    constraints, masks, given_form = random_constraints(hypergraph.sizes, random)
    outputs = random.normal(size=(STATES, hypergraph.num_outputs)).astype(np.float32)
    best = plan(hypergraph, kind=kind)
    mask = Mask(masks, constraints)
    found = jax.jit(lambda o, m: best.value_and_action(o, mask=m))(outputs, mask)
    value, action = map(np.asarray, found)
    reference = allowed_values(hypergraph, outputs, constraints, masks, given_form)
    for row, values in enumerate(reference):
        if not values:
            assert value[row] == -np.inf
            assert (action[row] == -1).all()
            continue
        assert abs(value[row] - max(values.values())) < 1e-4
        assert abs(values[tuple(action[row].tolist())] - value[row]) < 1e-4
    every = hypergraph.all_actions()
    for row, values in enumerate(reference):
        fits = constraints.allows(every, np.broadcast_to(masks[row], (len(every), masks.shape[1])))
        assert {tuple(a) for a in every[fits].tolist()} == set(values)


@settings(max_examples=examples(6))
@given(hypergraph=hypergraphs(), seed=st.integers(0, 9999))
def test_soft_values_marginals_and_the_k_best_obey_constraints(hypergraph, seed):
    random = np.random.default_rng(seed)
    constraints, masks, given_form = random_constraints(hypergraph.sizes, random)
    outputs = random.normal(size=(STATES, hypergraph.num_outputs)).astype(np.float32)
    mask = Mask(masks, constraints)
    best = maximiser(hypergraph)

    @jax.jit
    def compute(o, m):
        soft = best.soft(o, 0.7, mask=m), best.marginals(o, 0.7, mask=m)
        return *soft, best.entropy(o, 0.7, mask=m), best.best(o, 3, mask=m)

    soft, marginals, entropy, top = jax.tree.map(np.asarray, compute(outputs, mask))
    reference = allowed_values(hypergraph, outputs, constraints, masks, given_form)
    for row, values in enumerate(reference):
        if not values:
            assert soft[row] == -np.inf
            continue
        numbers = np.array(list(values.values())) / 0.7
        log_sum = np.log(np.exp(numbers - numbers.max()).sum()) + numbers.max()
        np.testing.assert_allclose(soft[row], 0.7 * log_sum, atol=1e-4)
        shares = np.exp(numbers - log_sum)
        np.testing.assert_allclose(entropy[row], -(shares * np.log(shares)).sum(), atol=1e-3)
        expected = np.zeros(hypergraph.num_outputs)
        for action, share in zip(values, shares, strict=True):
            expected[hypergraph.indices(np.array(action))] += share
        np.testing.assert_allclose(marginals[row], expected, atol=1e-4)
        largest = sorted(values.values(), reverse=True)[:3]
        np.testing.assert_allclose(top.values[row][: len(largest)], largest, atol=1e-4)
        assert (top.values[row][len(largest) :] == -np.inf).all()


WAYS = ["elimination", "enumeration", "sampling", "ascent", "branch-and-bound"]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_obeys_constraints(way):
    if way == "branch-and-bound" and "native" not in KINDS:
        pytest.skip("branch and bound needs the kernel")
    hypergraph = Hypergraph.complete((3, 2, 4, 3, 2), 2)
    pair = np.random.default_rng(0).random((3, 4)) < 0.6
    triple = np.random.default_rng(1).random((2, 3, 2)) < 0.7
    given_form = [{(0, 2): pair, (1, 3, 4): triple}]
    if way != "branch-and-bound":
        given_form.append(Cardinality(at_most=3, at_least=2, vertices=(0, 1, 3, 4), default=1))
    outputs = np.random.default_rng(2).normal(size=(40, hypergraph.num_outputs))
    outputs = outputs.astype(np.float32)
    best = maximiser(hypergraph, way=way, constraints=given_form)
    constraints = best.constraints
    values, actions = best.value_and_action(outputs)
    assert constraints.allows(np.asarray(actions)).all()
    every = hypergraph.all_actions()
    allowed = every[constraints.allows(every)]
    largest = hypergraph.representation(outputs[:, None], allowed[None]).sum(-1).max(-1)
    if best.exact:
        np.testing.assert_allclose(values, largest, atol=1e-4)
    assert (np.asarray(values) > largest - 0.3 * outputs.std() * hypergraph.num_edges).all()
    assert np.mean(np.isclose(values, largest, atol=1e-4)) > 0.7


def test_other_mixers_obey_constraints():
    hypergraph = Hypergraph.complete((3, 3, 2), 2)
    mixer = made(lambda key: Universal(hypergraph.num_edges, key=key))
    every = hypergraph.all_actions()
    outputs = np.random.default_rng(3).normal(size=(8, hypergraph.num_outputs))
    outputs = outputs.astype(np.float32)
    count = Cardinality(at_most=1)
    mask = {(0, 2): np.array([[1, 0], [1, 1], [0, 1]], bool)}
    for way in ("enumeration", "sampling"):
        best = maximiser(hypergraph, mixer, way=way, constraints=count)
        values, actions = map(np.asarray, best.value_and_action(outputs, mask=mask))
        rows = [[slow_representation(hypergraph, row, a) for a in every] for row in outputs]
        mixed = np.asarray(called(jax.vmap(jax.vmap(mixer)), np.array(rows, np.float32)))
        for mixes, value, action in zip(mixed, values, actions, strict=True):
            reference = {
                tuple(a): v
                for a, v in zip(every.tolist(), mixes.tolist(), strict=True)
                if sum(x != 0 for x in a) <= 1 and mask[(0, 2)][a[0], a[2]]
            }
            assert tuple(action.tolist()) in reference
            np.testing.assert_allclose(value, max(reference.values()), atol=1e-5)


def test_random_actions_under_constraints_are_even():
    constraints = Constraints.of((2, 3, 2, 2), [Cardinality(at_most=2, at_least=1)])
    pair = np.array([[1, 1, 0], [0, 1, 1]], bool)
    constraints = Constraints(
        constraints.sizes, ((0, 1),), constraints.fixed, constraints.cardinalities
    )
    row = constraints.row({(0, 1): pair})
    hypergraph = Hypergraph.complete((2, 3, 2, 2), 1)
    draws = 4000
    mask = Mask(jnp.broadcast_to(row, (draws, len(row))), constraints)
    actions = np.asarray(jax.jit(lambda m: random_actions(hypergraph, jax.random.key(0), m))(mask))
    legal = [
        a
        for a in itertools.product(range(2), range(3), range(2), range(2))
        if 1 <= sum(x != 0 for x in a) <= 2 and pair[a[0], a[1]]
    ]
    seen = {
        tuple(a): int(c)
        for a, c in zip(*np.unique(actions, axis=0, return_counts=True), strict=True)
    }
    assert set(seen) == set(legal)
    expected = draws / len(legal)
    assert sum((c - expected) ** 2 / expected for c in seen.values()) < 2.5 * len(legal)
    stays = np.broadcast_to(np.array([-1, 2, -1, 0], np.int32), (draws, 4))
    keep = jax.jit(lambda m, s: random_actions(hypergraph, jax.random.key(1), m, given=s))
    kept = np.asarray(keep(mask, stays))
    assert {tuple(a) for a in kept.tolist()} == {a for a in legal if a[1] == 2 and a[3] == 0}


def test_counting_forty_vertices_is_exact():
    """The best sub-action of each vertex, of which the k with the largest gains are taken."""
    hypergraph = Hypergraph.complete((3,) * 40, 1)
    outputs = np.random.default_rng(0).normal(size=(16, 40, 3)).astype(np.float32)
    best = maximiser(hypergraph, constraints=Cardinality(at_most=12, at_least=12))
    assert best.name == "elimination"
    values, actions = best.value_and_action(outputs.reshape(16, -1))
    gains = outputs[:, :, 1:].max(-1) - outputs[:, :, 0]
    expected = outputs[:, :, 0].sum(-1) + np.sort(gains)[:, -12:].sum(-1)
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    assert ((np.asarray(actions) != 0).sum(-1) == 12).all()


def test_few_allowed_actions_are_listed_however_many_there_are():
    hypergraph = Hypergraph.complete((2,) * 60, 2)
    best = maximiser(hypergraph, Mean(), constraints=Cardinality(at_most=1))
    assert best.name == "enumeration"
    assert best.exact
    outputs = np.random.default_rng(0).normal(size=(2, hypergraph.num_outputs)).astype(np.float32)
    _, actions = best.value_and_action(outputs)
    singles = np.vstack([np.zeros(60, int), np.eye(60, dtype=int)])
    values = hypergraph.representation(outputs[:, None], singles[None]).mean(-1)
    np.testing.assert_array_equal(actions, singles[values.argmax(-1)])


def test_constraints_past_elimination_are_obeyed():
    """All pairs of twenty vertices, with pairs that exclude each other, and a count."""
    hypergraph = Hypergraph.complete((4,) * 20, 2)
    unequal = ~np.eye(4, dtype=bool)
    chain = {(v, v + 1): unequal for v in range(19)}
    outputs = np.random.default_rng(0).normal(size=(4, hypergraph.num_outputs)).astype(np.float32)
    for given_form in ([chain], [chain, Cardinality(at_most=12)]):
        best = maximiser(hypergraph, constraints=given_form)
        assert not best.exact
        actions = np.asarray(best.argmax(outputs))
        assert best.constraints.allows(actions).all()
