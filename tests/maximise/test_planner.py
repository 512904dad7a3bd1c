"""Which way the planner takes, and why."""

import math
from itertools import combinations, permutations
from typing import ClassVar

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction import Hypergraph, Sum, make_mixer, maximiser
from hyperaction.maximise.base import AbstractWay
from hyperaction.maximise.cost import ASCENT_WORTH, Budget, Rate
from hyperaction.maximise.orders import (
    elimination_order,
    graph_of,
    least_fill,
    least_work,
    message_sizes,
)
from hyperaction.maximise.program import best_steps, order_of
from tests.maximise.problems import KINDS, plan
from tests.strategies import HAS_KERNEL, hypergraphs


@pytest.mark.parametrize(
    ("hypergraph", "mixer", "name"),
    [
        (Hypergraph.complete((5,) * 40, 1), "sum", "decentralised"),
        (Hypergraph.complete((5,) * 40, 1), "qmix", "decentralised"),
        (Hypergraph.complete((5,) * 3, 1), "universal", "enumeration"),
        (Hypergraph.complete((5,) * 40, 1), "universal", "sampling"),
        (Hypergraph.complete((5,) * 6, 2), "monotonic", "enumeration"),
        (Hypergraph.complete((5,) * 8, 2), "monotonic", "sampling"),
        (Hypergraph.complete((5,) * 8, 3), "monotonic-linear", "elimination"),
        (Hypergraph((5,) * 6, [(0, 1), (2, 3), (3, 4), (5,)]), "mean", "components"),
        (Hypergraph.complete((5,) * 17, 2), "sum", "ascent"),
        (Hypergraph.complete((5,) * 17, 3), "sum", "ascent"),
    ],
)
def test_the_planner_takes_the_cheapest_exact_way_and_says_why(hypergraph, mixer, name):
    made = make_mixer(mixer, hypergraph, features=2, key=jax.random.key(0))
    best = maximiser(hypergraph, made)
    assert best.name == name
    assert best.exact == (name not in ("ascent", "sampling"))
    assert best.explain().startswith(f"{name} ({'exact' if best.exact else 'approximate'}, about ")
    assert best.cost > 0


def test_a_larger_budget_buys_exactness():
    hypergraph = Hypergraph.complete((5,) * 11, 2)
    assert maximiser(hypergraph, budget=1.0).exact
    assert not maximiser(hypergraph, budget=1e-3).exact
    assert "more than the budget of 1 ms per state" in maximiser(hypergraph, budget=1e-3).explain()
    with pytest.raises(ValueError, match="it must be at least 0 seconds"):
        maximiser(hypergraph, budget=-1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [2, 3])
def test_no_budget_buys_less_exactness_for_more_time(rank, kind):
    for vertices in (4, 6, 8):
        hypergraph = Hypergraph.complete((5,) * vertices, rank)
        exact = plan(hypergraph, kind=kind, budget=0.0)
        ascent = plan(hypergraph, kind=kind, way="ascent")
        assert exact.exact
        assert exact.seconds <= ASCENT_WORTH * ascent.seconds


def test_tables_past_the_caches_are_not_eliminated_where_searching_takes_less():
    edges = [(v, w) for v in range(38) for w in range(v + 1, min(v + 8, 38))]
    hypergraph = Hypergraph((5,) * 38, edges)
    eliminated, searched = maximiser(hypergraph, way="elimination"), maximiser(hypergraph)
    if HAS_KERNEL:
        assert type(eliminated.way).__name__ == "Elimination"
        assert searched.name == "ascent"
    assert searched.seconds <= eliminated.seconds


@given(
    st.floats(0.01, 10),
    st.sampled_from([1, 4, 16]),
    st.integers(1, 300),
    st.integers(1, 16),
    st.floats(0, 1e9),
)
def test_a_batch_takes_no_less_than_a_smaller_one_and_budgets_allow_what_they_hold(
    nanoseconds, lanes, states, times, adds
):
    way = Sweeping(cost=adds)
    rate = Rate(nanoseconds, lanes)
    assert rate.seconds(adds, states) <= rate.seconds(adds, states + 1)
    budget = Budget(
        way.seconds(states) + times * way.seconds(1), ((states, 1.0), (1, float(times)))
    )
    assert budget.allows(way)
    assert budget.adds(way.rate) >= adds * (1 - 1e-6)
    assert not budget.allows(Sweeping(cost=1.01 * adds + 1.0))


class Sweeping(AbstractWay):
    """A way by its cost alone."""

    name: ClassVar[str] = "sweeping"

    @property
    def exact(self):
        return True

    def solve(self, problem):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("way", "hypergraph", "mixer", "message"),
    [
        ("eliminate", Hypergraph.complete((2, 2), 2), Sum(), "did you mean 'elimination'"),
        ("decentralised", Hypergraph.complete((2, 2), 2), Sum(), r"rank 1 \(this is rank 2\)"),
        ("elimination", Hypergraph.complete((5,) * 17, 2), Sum(), "elimination cannot fit"),
        ("enumeration", Hypergraph.complete((5,) * 17, 2), Sum(), "762,939,453,125 joint actions"),
        ("branch-and-bound", Hypergraph((2**12, 2**12), [(0, 1)]), Sum(), "4,194,304 outputs at"),
    ],
)
def test_ways_that_do_not_fit_are_refused_with_what_would(way, hypergraph, mixer, message):
    with pytest.raises(ValueError, match=message):
        maximiser(hypergraph, mixer, way=way)


def test_sums_only_ways_refuse_other_mixers():
    mixer = make_mixer(
        "universal", Hypergraph.complete((2, 2), 2), features=1, key=jax.random.key(0)
    )
    for way in ("elimination", "components", "ascent", "branch-and-bound"):
        with pytest.raises(ValueError, match=f"{way} needs a mixer that is a weighted sum"):
            maximiser(Hypergraph.complete((2, 2), 2), mixer, way=way)


def test_planning_large_sparse_hypergraphs_finds_the_cheap_program():
    hypergraph = Hypergraph((5,) * 400, [(v, v + 1) for v in range(399)])
    assert plan(hypergraph).cost < 30_000
    assert not plan(Hypergraph.complete((3,) * 38, 3)).exact


def test_what_is_too_dense_to_eliminate_is_known_before_any_order_is_looked_for(monkeypatch):
    def look(*args):
        raise AssertionError("orders were looked for")

    monkeypatch.setattr("hyperaction.maximise.elimination.best_steps", look)
    monkeypatch.setattr("hyperaction.maximise.elimination.elimination_order", look)
    assert maximiser(Hypergraph.complete((2,) * 200, 2)).name == "ascent"


@given(hypergraphs(max_vertices=6))
def test_no_program_stays_below_the_least_work(hypergraph):
    bound = least_work(hypergraph)
    assert max(message_sizes(hypergraph, elimination_order(hypergraph))) >= bound
    assert best_steps(hypergraph, float(bound - 1)) is None
    found = best_steps(hypergraph, 1e12)
    assert found is not None
    assert found[1] >= bound


def test_the_least_work_of_all_pairs_is_that_of_all_joint_actions():
    assert least_work(Hypergraph.complete((2, 3, 4), 2)) == 24
    assert least_work(Hypergraph((2, 3, 4), [(0, 1), (1, 2)])) == 12
    assert least_work(Hypergraph((2, 3, 4), [(0,), (1,), (2,)])) == 4


@given(hypergraphs(max_vertices=6))
def test_the_least_fill_is_that_of_counting_every_pair(hypergraph):
    graph = graph_of(hypergraph)

    def key(vertex):
        pairs = combinations(graph[vertex], 2)
        fill = 2 * sum(two not in graph[one] for one, two in pairs)
        size = hypergraph.sizes[vertex] * math.prod(hypergraph.sizes[v] for v in graph[vertex])
        return fill, size, vertex

    assert least_fill(hypergraph, graph) == min(graph, key=key)


def slow_treewidth(hypergraph):
    """The least width of any order, by trying all of them."""
    return min(
        slow_width(hypergraph, order) for order in permutations(range(hypergraph.num_vertices))
    )


def slow_width(hypergraph, order):
    """The most vertices that share a table with the vertex that goes, itself not counted."""
    scopes, width = [set(edge) for edge in hypergraph.edges], 0
    for vertex in order:
        merged = set().union(*(scope for scope in scopes if vertex in scope)) - {vertex}
        scopes = [*(scope for scope in scopes if vertex not in scope), merged]
        width = max(width, len(merged))
    return width


@given(hypergraphs())
def test_the_width_is_that_of_the_planned_order_and_never_below_the_treewidth(hypergraph):
    treewidth = slow_treewidth(hypergraph)
    order = elimination_order(hypergraph)
    in_jax = plan(hypergraph, way="elimination", kind="jax")
    assert in_jax.width == slow_width(hypergraph, order) >= treewidth
    if HAS_KERNEL:
        native = plan(hypergraph, way="elimination")
        assert native.width == slow_width(hypergraph, order_of(native.way.steps)) >= treewidth
    assert (plan(hypergraph, way="components").width or 0) >= treewidth


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("hypergraph", "width"),
    [
        (Hypergraph.from_tree((5,) * 38, [(v - 1) // 2 if v else -1 for v in range(38)]), 1),
        (Hypergraph.from_tree((3,) * 38, [v - 1 for v in range(38)], rank=4), 3),
        (Hypergraph.from_chains((4,) * 6, [range(6)], rank=6), 5),
        (Hypergraph.grid((2,) * 40, (4, 10)), 4),
        (Hypergraph.complete((5,) * 8, 2), 7),
        (Hypergraph((5,) * 7, [(0, 1, 2), (3, 4), (4, 5), (6,)]), 2),
    ],
)
def test_explain_shows_the_width(hypergraph, width, kind):
    best = plan(hypergraph, kind=kind)
    assert (best.exact, best.width) == (True, width)
    assert f" per state, width {width}): " in best.explain()


def test_ways_that_eliminate_nothing_have_no_width():
    assert maximiser(Hypergraph.complete((5,) * 17, 2), way="ascent").width is None
    assert maximiser(Hypergraph.complete((5,) * 4, 1)).width is None
