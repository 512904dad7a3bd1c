import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperaction import maximiser
from tests.strategies import hypergraphs, outputs_for, slow_values


@given(hypergraphs(), st.integers(0, 99))
def test_max_and_argmax_equal_brute_force(hypergraph, seed):
    outputs = outputs_for(hypergraph, (3,), seed)
    best = maximiser(hypergraph)
    values, actions = best.value_and_action(outputs)
    for one, value, action in zip(outputs, values, np.asarray(actions), strict=True):
        reference = slow_values(hypergraph, one)
        np.testing.assert_allclose(value, max(reference.values()), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(reference[tuple(action.tolist())], value, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(best.argmax(outputs), actions)
    np.testing.assert_array_equal(best.max(outputs), values)
