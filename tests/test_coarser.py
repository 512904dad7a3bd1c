"""Tables on nested grids, against entries one by one."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import MLP, Hypergraph, QNetwork
from hyperaction.blocks import Blocks
from hyperaction.coarser import CoarserTables, parent
from tests.modules import made


def nearest(place, fine, coarse):
    """The parent by looking at all of the coarse grid; of two that are as near, the even one."""
    apart = [abs(place / (fine - 1) - other / (coarse - 1)) for other in range(coarse)]
    best = [other for other in range(coarse) if np.isclose(apart[other], min(apart))]
    return best[0] if len(best) == 1 else next(other for other in best if other % 2 == 0)


@pytest.mark.parametrize(("fine", "coarse"), [(5, 3), (9, 5), (9, 3), (7, 4), (3, 2)])
def test_a_parent_is_the_nearest_on_the_coarser_grid(fine, coarse):
    found = parent(np.arange(fine), fine=fine, coarse=coarse)
    assert found.tolist() == [nearest(place, fine, coarse) for place in range(fine)]


@pytest.mark.parametrize("quantiles", [1, 2])
def test_an_entry_is_the_sum_of_its_own_and_its_parents(quantiles):
    levels, edges = (2, 3, 5), [(0,), (2,), (0, 1), (1, 2)]
    hypergraph = Hypergraph((5, 5, 5), edges)
    random = np.random.default_rng(0)

    def make(key):
        blocks = Blocks(hypergraph, 6, 4, quantiles=quantiles, key=key)
        return blocks, CoarserTables(blocks, levels, key=jax.random.key(1))

    blocks, coarser = made(make)
    assert not any(np.any(weights) for weights in coarser.weights[1])
    coarser = jax.tree.map(lambda x: random.normal(size=x.shape).astype(x.dtype), coarser)

    @jax.jit
    def compute(blocks, coarser):
        heads = blocks.heads(jnp.arange(6.0))
        outputs = [blocks.mean.outputs(heads)]
        for number, level in enumerate(levels[:-1]):
            coarse = Blocks(Hypergraph((level,) * 3, edges), 6, 4, key=jax.random.key(0))
            own = (coarser.weights[number], coarser.biases[number])
            if quantiles > 1:
                own = jax.tree.map(lambda x: x.mean(axis=0), own)
            coarse = eqx.tree_at(lambda b: (b.weights, b.biases), coarse, own)
            outputs.append(coarse.outputs(heads))
        return coarser.added_to(blocks).mean.outputs(heads), outputs

    found, outputs = jax.tree.map(np.asarray, compute(blocks, coarser))
    for edge, part in zip(edges, hypergraph.slices, strict=True):
        for index, places in enumerate(product(range(5), repeat=len(edge))):
            expected = float(outputs[0][part.start + index])
            middle = [nearest(place, 5, 3) for place in places]
            lowest = [nearest(place, 3, 2) for place in middle]
            for level, at, table in ((3, middle, outputs[2]), (2, lowest, outputs[1])):
                start = Hypergraph((level,) * 3, edges).slices[edges.index(edge)].start
                expected += float(table[start + np.ravel_multi_index(at, (level,) * len(edge))])
            np.testing.assert_allclose(found[part.start + index], expected, rtol=1e-4, atol=1e-5)


def test_children_start_with_their_parents_values():
    def values(key):
        state, key = MLP((3,), (8,), key=key), jax.random.fold_in(key, 1)
        network = QNetwork(Hypergraph.complete((5, 5), 2), state, levels=(3, 5), key=key)
        return network.q_values(jnp.ones(3))

    values = np.asarray(made(values)).reshape(5, 5)
    parents = parent(np.arange(5), fine=5, coarse=3)
    np.testing.assert_array_equal(values, values[2 * parents][:, 2 * parents])
    assert len(np.unique(values)) == 9

    def make(key):
        CoarserTables(Blocks(Hypergraph((5, 4), [(0, 1)]), 3, 4, key=key), (3, 5), key=key)

    with pytest.raises(ValueError, match="every vertex must have 5 sub-actions"):
        made(make)
