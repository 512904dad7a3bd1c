"""Forms in which constraints may be given, and what is refused."""

import numpy as np
import pytest

from hyperaction.constraints import Cardinality, Constraints, tables_of

NAMES = ("power", "harvest", "fire")
SIZES = (2, 3, 4)


def test_all_forms_of_a_mask_say_the_same():
    rows = (np.array([1, 0]), np.array([1, 1, 0]), np.array([0, 1, 1, 1]))
    expected = {(v,): row.astype(bool) for v, row in enumerate(rows)}
    for form in (
        rows,
        [list(row) for row in rows],
        np.concatenate(rows),
        np.concatenate(rows).astype(bool).tolist(),
        dict(enumerate(rows)),
        {(v,): row for v, row in enumerate(rows)},
        dict(zip(NAMES, rows, strict=True)),
    ):
        tables = tables_of(form, SIZES, NAMES)
        assert list(tables) == list(expected)
        for scope, row in expected.items():
            np.testing.assert_array_equal(tables[scope], row)


def test_joint_masks_are_transposed_into_order():
    table = np.random.default_rng(0).random((4, 2)) < 0.5
    for key in ((2, 0), ("fire", "power"), "fire,power"):
        (scope,) = tables = tables_of({key: table}, SIZES, NAMES)
        assert scope == (0, 2)
        np.testing.assert_array_equal(tables[scope], table.T)
    every = np.random.default_rng(1).random(SIZES) < 0.5
    for form in (every, every.ravel(), {NAMES: every}, {(0, 1, 2): every.ravel()}):
        np.testing.assert_array_equal(tables_of(form, SIZES, NAMES)[(0, 1, 2)], every)
    stacked = np.random.default_rng(2).random((3, 5)) < 0.5
    assert list(tables_of(stacked, (5, 5, 5))) == [(0,), (1,), (2,)]
    flat = np.array([True, False, True, True])
    assert list(tables_of(flat, (2, 2))) == [(0,), (1,)]
    assert list(tables_of(flat, (2, 2), is_discrete=True)) == [(0, 1)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(5), "give a row of 9"),
        (np.ones((2, 2, 2)), "give a row of 9"),
        ({(0, 3): np.ones((2, 2))}, "there is no vertex 3; there are 3"),
        ({"powr": np.ones(2)}, "unknown vertex 'powr'; did you mean 'power'"),
        ({(0, 0): np.ones((2, 2))}, "one vertex or several different"),
        ({(0, 1): np.ones((3, 2))}, r"has shape \(3, 2\); it must be \(2, 3\)"),
        ((np.ones(2), np.ones(2), np.ones(4)), r"of vertex 1 has shape \(2,\)"),
        ("no", "must hold zeros and ones"),
        ({0: [0.0, -np.inf]}, "must hold zeros and ones"),
        ({0: [1, 2]}, "must hold zeros and ones"),
        ({0: [np.nan, 1]}, "must hold zeros and ones"),
    ],
)
def test_masks_that_fit_nothing_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        tables_of(given, SIZES, NAMES)


def test_a_mask_of_two_meanings_is_refused():
    with pytest.raises(ValueError, match="may be one over joint actions or a row for each"):
        tables_of(np.ones((2, 2)), (2, 2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at_most": 1, "at_least": 2}, "allows nothing"),
        ({"at_least": 4}, "has 3 vertices to count"),
        ({"vertices": ("fire", 2)}, "names a vertex twice"),
        ({"default": (0, 1)}, "2 defaults for 3 vertices"),
        ({"default": 2}, "the default 2 of vertex 0 must be from 0 to 1"),
        ({"vertices": ("farm",)}, "unknown vertex 'farm'"),
    ],
)
def test_cardinalities_that_cannot_be_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Constraints.of(SIZES, Cardinality(**given), NAMES)


def test_cardinalities_read_as_a_sentence():
    assert str(Cardinality(at_most=2)) == "at most 2"
    assert str(Cardinality(2, 2, ("a", "b"), 1)) == "exactly 2 of a,b default 1"
    assert str(Cardinality(at_least=1)) == "at least 1"
    assert str(Cardinality(3, 1)) == "at least 1 and at most 3"


def test_actions_that_always_hold_are_listed():
    constraints = Constraints.of(
        SIZES, [Cardinality(at_most=1), {(0, 2): np.arange(8).reshape(2, 4) % 3 > 0}]
    )
    every = np.indices(SIZES).reshape(3, -1).T
    listed = constraints.listed(1000)
    np.testing.assert_array_equal(listed, every[constraints.allows(every)])
    assert constraints.listed(2) is None
    assert len(Constraints.of((2,) * 50, Cardinality(at_most=2)).listed(10_000)) == 1 + 50 + 1225
