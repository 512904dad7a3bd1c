"""The canonical form and its statistics, against brute force."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction import Hypergraph
from hyperaction.analysis.explain import Explanation
from hyperaction.analysis.rollout import Rollout
from hyperaction.anova import canonical, closure, outputs_of, uniform, variances
from tests.strategies import hypergraphs, slow_representation


def joint(hypergraph, outputs):
    """Q of every joint action, as an array with one axis per vertex."""
    values = hypergraph.representation(outputs, hypergraph.all_actions()).sum(axis=-1)
    return values.reshape(hypergraph.sizes)


def brute_force(values, weights):
    """The functional ANOVA decomposition by its definition, from conditional means."""
    vertices = range(values.ndim)
    subsets = list(chain.from_iterable(combinations(vertices, k) for k in range(values.ndim + 1)))
    means = {}
    for part in subsets:
        mean = values
        for vertex in vertices:
            if vertex not in part:
                shape = [-1 if v == vertex else 1 for v in vertices]
                mean = (mean * weights[vertex].reshape(shape)).sum(axis=vertex, keepdims=True)
        means[part] = mean
    return {
        part: sum(
            (-1) ** (len(part) - len(inner)) * means[inner]
            for inner in subsets
            if set(inner) <= set(part)
        )
        for part in subsets
    }


@given(hypergraphs(), st.integers(0, 99), st.booleans())
def test_the_canonical_form_is_the_anova_decomposition(hypergraph, seed, is_uniform):
    random = np.random.default_rng(seed)
    outputs = random.normal(size=hypergraph.num_outputs)
    weights = uniform(hypergraph)
    if not is_uniform:  # Some sub-actions may never be taken.
        weights = [random.dirichlet(np.full(size, 0.3)) for size in hypergraph.sizes]
    found = canonical(hypergraph, outputs, weights)
    expected = brute_force(joint(hypergraph, outputs), weights)
    assert found.constant == pytest.approx(expected.pop(()).item(), abs=1e-9)
    for part, table in expected.items():
        if part in found.parts:
            np.testing.assert_allclose(found.parts[part].ravel(), table.ravel(), atol=1e-9)
        else:
            np.testing.assert_allclose(table, 0.0, atol=1e-9)
    weighted = np.ones(())
    for each in weights:
        weighted = np.multiply.outer(weighted, each)
    values = joint(hypergraph, outputs)
    variance = (weighted * values**2).sum() - (weighted * values).sum() ** 2
    assert sum(variances(found, weights).values()) == pytest.approx(variance, abs=1e-9)


@given(hypergraphs(), st.integers(0, 99))
def test_the_canonical_form_changes_no_value(hypergraph, seed):
    outputs = np.random.default_rng(seed).normal(size=(2, 3, hypergraph.num_outputs))
    form = canonical(hypergraph, outputs)
    again = outputs_of(form, hypergraph)
    actions = hypergraph.all_actions()[:, None, None]
    before = hypergraph.representation(outputs, actions).sum(axis=-1)
    np.testing.assert_allclose(
        hypergraph.representation(again, actions).sum(axis=-1), before, atol=1e-9
    )
    repeated = canonical(hypergraph, again)
    for part in closure(hypergraph):
        np.testing.assert_allclose(repeated.parts[part], form.parts[part], atol=1e-9)


def test_one_pair_interaction_shows_as_exactly_that_pair():
    hypergraph = Hypergraph.complete((3, 4, 2, 3), rank=3)
    random = np.random.default_rng(0)
    outputs = np.zeros(hypergraph.num_outputs)
    pair = random.normal(size=(3, 2))
    pair -= pair.mean(axis=0)
    pair -= pair.mean(axis=1, keepdims=True)
    # Hidden in a hyperedge of three vertices, and covered by what cancels out elsewhere.
    noise = random.normal(size=(3, 4))
    table = pair[:, None, :] + noise[:, :, None]
    outputs[hypergraph.slices[hypergraph.edges.index((0, 1, 2))]] = table.ravel()
    outputs[hypergraph.slices[hypergraph.edges.index((0, 1))]] = -noise.ravel()
    form = canonical(hypergraph, outputs)
    shares = variances(form, uniform(hypergraph))
    assert shares.pop((0, 2)) == pytest.approx((pair**2).mean())
    assert max(shares.values()) < 1e-20
    np.testing.assert_allclose(form.parts[0, 2], pair, atol=1e-12)


def test_statistics_are_those_of_every_step():
    hypergraph = Hypergraph.complete((3, 2, 4), rank=2)
    random = np.random.default_rng(0)
    outputs = random.normal(size=(50, hypergraph.num_outputs)).astype(np.float32)
    actions = np.stack([random.integers(size, size=50) for size in hypergraph.sizes], axis=1)
    explanation = Explanation(hypergraph, affine=True, weights=None)
    for some in (slice(0, 20), slice(20, 50)):
        explanation.add(Rollout(outputs[some], actions[some], *np.zeros((4, 50))[:, some]))
    slow = np.array(
        [slow_representation(hypergraph, o, a) for o, a in zip(outputs, actions, strict=True)]
    )
    found = explanation.as_json()
    rows = found["representation"]
    assert found["steps"] == 50
    np.testing.assert_allclose([row["mean"] for row in rows], slow.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose([row["lowest"] for row in rows], slow.min(axis=0))
    np.testing.assert_allclose([row["highest"] for row in rows], slow.max(axis=0))
    # A share is the part's variance over that of all actions, both meant over the steps.
    every = [joint(hypergraph, each) for each in outputs.astype(np.float64)]
    parts = [brute_force(values, uniform(hypergraph)) for values in every]
    for row in found["shares"]:
        variance = np.mean([np.mean(each[tuple(row["vertices"])] ** 2) for each in parts])
        assert row["share"] == pytest.approx(variance / np.mean([v.var() for v in every]))
