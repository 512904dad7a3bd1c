"""Random hypergraphs and outputs, and the slow, obvious references that fast code is held to."""

import itertools
import math
import shutil

import numpy as np
import pytest
from hypothesis import strategies as st

from hyperaction import Hypergraph, kernels

# Without a compiler there is no kernel to test; with one, a kernel that was not built is a failure.
HAS_KERNEL = kernels.available() or any(map(shutil.which, ("c++", "g++", "clang++")))
NEEDS_KERNEL = pytest.mark.skipif(not HAS_KERNEL, reason="no C++ compiler, so no kernel")


@st.composite
def hypergraphs(draw, max_vertices=5, max_size=4, max_rank=None):
    """Any hyperedges that cover all vertices, of unequal sizes, in any order."""
    sizes = draw(st.lists(st.integers(1, max_size), min_size=1, max_size=max_vertices))
    vertices = range(len(sizes))
    rank = len(sizes) if max_rank is None else min(max_rank, len(sizes))
    edge = st.sets(st.sampled_from(vertices), min_size=1, max_size=rank).map(frozenset)
    edges = draw(st.sets(edge, max_size=6))
    uncovered = set(vertices).difference(*edges)
    chosen = [tuple(edge) for edge in edges] + [(vertex,) for vertex in uncovered]
    return Hypergraph(sizes, draw(st.permutations(chosen)))


def outputs_for(hypergraph, batch=(), seed=0):
    """Random outputs; few distinct values, so that optima repeat, when the seed is odd."""
    values = np.random.default_rng(seed).normal(size=(*batch, hypergraph.num_outputs)) * 10
    return (np.round(values / 5) * 5 if seed % 2 else values).astype(np.float32)


def tables_of(hypergraph, outputs):
    """The table of each hyperedge, an axis for each of its vertices."""
    start = 0
    for edge in hypergraph.edges:
        shape = tuple(hypergraph.sizes[vertex] for vertex in edge)
        yield edge, np.asarray(outputs)[start : start + math.prod(shape)].reshape(shape)
        start += math.prod(shape)


def slow_representation(hypergraph, outputs, action):
    """One value per hyperedge, by looking each up in its table."""
    return [table[tuple(action[v] for v in edge)] for edge, table in tables_of(hypergraph, outputs)]


def slow_values(hypergraph, outputs, mix=sum):
    """The value of every joint action of one state, by name of the action."""
    tables = list(tables_of(hypergraph, outputs))
    return {
        action: float(mix([table[tuple(action[v] for v in edge)] for edge, table in tables]))
        for action in itertools.product(*(range(size) for size in hypergraph.sizes))
    }
