import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction import HIGHEST, Hypergraph
from tests.strategies import hypergraphs, outputs_for, slow_representation


@given(hypergraphs(), st.integers(0, 99), st.sampled_from([np.asarray, jnp.asarray]))
def test_representation_is_one_value_per_hyperedge(hypergraph, seed, array):
    outputs = outputs_for(hypergraph, (3,), seed)
    random = np.random.default_rng(seed)
    actions = random.integers(hypergraph.sizes, size=(3, hypergraph.num_vertices))
    found = hypergraph.representation(array(outputs), array(actions))
    expected = [slow_representation(hypergraph, *one) for one in zip(outputs, actions, strict=True)]
    np.testing.assert_array_equal(found, expected)
    assert isinstance(found, type(array(outputs)))


@given(hypergraphs())
def test_leading_axes_broadcast(hypergraph):
    outputs = outputs_for(hypergraph)
    actions = hypergraph.all_actions()
    many = hypergraph.representation(outputs, actions)
    assert many.shape == (hypergraph.num_actions, hypergraph.num_edges)
    for action, row in zip(actions, many, strict=True):
        np.testing.assert_array_equal(hypergraph.representation(outputs, action), row)
    both = hypergraph.representation(np.stack([outputs, -outputs])[:, None], actions[None])
    np.testing.assert_array_equal(both, np.stack([many, -many]))


@given(hypergraphs())
def test_slices_partition_the_outputs(hypergraph):
    covered = [place for part in hypergraph.slices for place in range(part.start, part.stop)]
    assert covered == list(range(hypergraph.num_outputs))
    for edge, part, size in zip(
        hypergraph.edges, hypergraph.slices, hypergraph.table_sizes, strict=True
    ):
        assert part.stop - part.start == size == math.prod(hypergraph.table_shape(edge))
        owners = {hypergraph.edges[owner] for owner in hypergraph.edge_of_output[part]}
        assert owners == {edge}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_complete_has_every_hyperedge_up_to_its_rank(sizes, data):
    rank = data.draw(st.integers(1, len(sizes)))
    hypergraph = Hypergraph.complete(sizes, rank)
    assert hypergraph.rank == rank
    assert hypergraph.num_edges == sum(math.comb(len(sizes), c) for c in range(1, rank + 1))
    assert Hypergraph.of_orders(sizes, range(1, rank + 1)) == hypergraph
    assert len(set(map(frozenset, hypergraph.edges))) == hypergraph.num_edges


def test_the_highest_order_is_one_hyperedge_of_all_vertices():
    assert Hypergraph.of_orders((3, 3, 2), (HIGHEST,)).edges == ((0, 1, 2),)
    assert Hypergraph.of_orders((3, 2), (1, 2, HIGHEST)) == Hypergraph.complete((3, 2), 2)


forests = st.integers(1, 9).flatmap(
    lambda n: st.tuples(*(st.integers(-1, vertex - 1) for vertex in range(n)))
)


@given(forests, st.integers(1, 4), st.randoms())
def test_a_tree_joins_every_vertex_with_its_nearest_ancestors(parents, rank, random):
    n = len(parents)
    renamed = random.sample(range(n), n)  # Parents may come after their children.
    moved = [None] * n
    for vertex, parent in enumerate(parents):
        moved[renamed[vertex]] = None if parent < 0 else renamed[parent]
    expected = set()
    for vertex in range(n):
        line = [vertex]
        while moved[line[-1]] is not None:
            line.append(moved[line[-1]])
        expected |= {frozenset(line[:length]) for length in range(1, rank + 1)}
    found = Hypergraph.from_tree((2,) * n, moved, rank)
    assert set(map(frozenset, found.edges)) == expected
    assert [len(edge) for edge in found.edges] == sorted(map(len, found.edges))


@given(st.lists(st.permutations(range(6)), max_size=3), st.integers(0, 6), st.integers(1, 4))
def test_chains_join_consecutive_vertices(orders, length, rank):
    chains = [order[:length] for order in orders]
    expected = {frozenset([vertex]) for vertex in range(6)}
    for chain in chains:
        for start in range(length):
            expected |= {
                frozenset(chain[start:stop])
                for stop in range(start + 1, length + 1)
                if stop - start <= rank
            }
    found = Hypergraph.from_chains((2,) * 6, chains, rank)
    assert set(map(frozenset, found.edges)) == expected


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (3, 1), (2, 3, 2)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_grid_joins_neighbours_in_a_row(shape, rank):
    places = list(itertools.product(*map(range, shape)))
    expected = {frozenset([vertex]) for vertex in range(len(places))}
    for place, axis in itertools.product(places, range(len(shape))):
        for length in range(1, rank):
            ends = [*place[:axis], place[axis] + length, *place[axis + 1 :]]
            if ends[axis] < shape[axis]:
                row = [
                    (*place[:axis], step, *place[axis + 1 :])
                    for step in range(place[axis], ends[axis] + 1)
                ]
                expected.add(frozenset(map(places.index, row)))
    found = Hypergraph.grid((2,) * len(places), shape, rank)
    assert set(map(frozenset, found.edges)) == expected


@pytest.mark.parametrize(
    ("family", "args", "message"),
    [
        ("from_tree", ((2, 2), [-1]), "parents has 1 entry for 2 vertices; give"),
        ("from_tree", ((2, 2), [-1, 2]), "vertex 1 has the parent 2; allowed are 0"),
        ("from_tree", ((2, 2), [-1, 0.5]), "parent 0.5 is not a whole number"),
        ("from_tree", ((2,) * 4, [-1, 2, 3, 2]), "parents: vertex . is its own anc"),
        ("from_tree", ((2,), [0]), "parents: vertex 0 is its own ancestor"),
        ("from_tree", ((2, 2), [-1, 0], 0), "rank 0 on 2 vertices; allowed are 1"),
        ("from_tree", ((2,) * 2000, range(-1, 1999), -1), "up to 4,000,000 hyperedg"),
        ("from_chains", ((2, 2), [0]), "chain 0 is 0, a number; a chain is vertices"),
        ("from_chains", ((2, 2), [[0, 2]]), "chain 0 names vertex 2; allowed are 0"),
        ("from_chains", ((2, 2), [[0, 1, 0]]), "chain 0 names a vertex twice"),
        ("grid", ((2,) * 6, (2, 2)), r"shape \(2, 2\) is not that of 6 vertices"),
        ("grid", ((2,) * 6, (-2, -3)), "its lengths must be at least 1"),
    ],
)
def test_what_is_no_tree_chain_or_grid_is_refused_by_name(family, args, message):
    with pytest.raises(ValueError, match=message):
        getattr(Hypergraph, family)(*args)


def test_hypergraphs_with_the_same_hyperedges_are_equal_and_hash_alike():
    one, other = Hypergraph((2, 3), [(1, 0)]), Hypergraph(np.array([2, 3]), [{0, 1}])
    assert one == other
    assert hash(one) == hash(other)
    assert one != Hypergraph((2, 3), [(0,), (1,)])


def test_the_papers_example_prints_readably():
    hypergraph = Hypergraph((3,) * 6, [(0,), (1, 2), (2, 3), (3, 4, 5)])
    assert str(hypergraph) == (
        "Hypergraph of rank 3: 6 vertices (3 each), 4 hyperedges, 48 outputs "
        "for 729 joint actions\n"
        "  order 1 (1): {0}\n"
        "  order 2 (2): {1, 2} {2, 3}\n"
        "  order 3 (1): {3, 4, 5}"
    )
    assert eval(repr(hypergraph)) == hypergraph
    assert "2,024 hyperedges" in repr(Hypergraph.of_orders((2,) * 24, (3,)))


@pytest.mark.parametrize(
    ("sizes", "edges", "message"),
    [
        ([], [], "no vertices"),
        ([3, 0], [(0,), (1,)], "vertex 1 has size 0; a vertex has at least 1"),
        ([3, 2.5], [(0,), (1,)], "size 2.5 is not a whole number"),
        ([3], [(0,), ()], "hyperedge 1 is empty"),
        ([3, 3], [(0,), (5, 1)], r"hyperedge \{1, 5\} names vertex 5, but there are only 2"),
        ([3, 3], [(-1,), (1,)], "names vertex -1"),
        ([3, 3, 3], [(0,)], r"no hyperedge covers vertices 1, 2; .*\{1\}"),
        ([3, 3], [(0, 1), (1, 0)], r"\{0, 1\} is given twice \(positions 0 and 1\)"),
        ([3, 3], [(0, 0), (1,)], "names a vertex twice"),
        ([3, 3], [0, 1], r"a collection of vertices, such as \(0,\)"),
    ],
)
def test_what_is_no_hypergraph_is_refused_by_name(sizes, edges, message):
    with pytest.raises(ValueError, match=message):
        Hypergraph(sizes, edges)


@pytest.mark.parametrize("rank", [0, 4, -2])
def test_ranks_out_of_range_are_refused(rank):
    with pytest.raises(ValueError, match=f"rank {rank} on 3 vertices; allowed are 1 to 3, and -1"):
        Hypergraph.complete((2, 2, 2), rank)


def test_hypergraphs_nobody_can_mean_are_refused_at_once():
    with pytest.raises(ValueError, match="274,877,906,943 hyperedges"):
        Hypergraph.complete((3,) * 38, HIGHEST)
    with pytest.raises(ValueError, match="762,939,453,125 outputs"):
        _ = Hypergraph.of_orders((5,) * 17, (HIGHEST,)).strides
    with pytest.raises(ValueError, match="12,000 vertices times 12,000 hyperedges are more than"):
        _ = Hypergraph.complete((2,) * 12_000, 1).strides


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 3], r"sub-action 3 of vertex 1 is out of range: it has 3 sub-actions \(0 to 2\)"),
        ([-1, 0], "sub-action -1 of vertex 0"),
        ([0, 0, 0], r"actions have shape \(3,\)"),
        ([0.5, 1.0], "actions are integers"),
    ],
)
def test_actions_that_do_not_fit_are_refused(actions, message):
    hypergraph = Hypergraph.complete((2, 3), 2)
    with pytest.raises(ValueError, match=message):
        hypergraph.representation(np.zeros(hypergraph.num_outputs), actions)


def test_outputs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"outputs have shape \(4,\); .* 5 long"):
        Hypergraph.complete((2, 3), 1).representation(np.zeros(4), [0, 0])
