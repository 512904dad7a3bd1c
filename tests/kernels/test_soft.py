"""The kernels of soft values on every instruction set of this machine, against their twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import Hypergraph, kernels, maximiser
from hyperaction.kernels import isa
from hyperaction.maximise.elimination import Elimination, JaxElimination
from hyperaction.maximise.program import Step
from tests.kernels.test_kernels import SETS, force, targets
from tests.strategies import outputs_for

SIZES = (5, 3, 2, 10, 4, 1)
EDGES = [(0, 1), (1, 2, 4), (2, 3), (0, 3), (4,), (5,), (3, 4), (0, 5)]
HYPERGRAPH = Hypergraph(SIZES, EDGES)
STEPS = tuple(Step(vertex, conditions=vertex in (0, 3)) for vertex in (0, 1, 3, 2, 4, 5))
NATIVE = maximiser(HYPERGRAPH, way=Elimination(cost=0.0, steps=STEPS))
TWIN = maximiser(HYPERGRAPH, way=JaxElimination(cost=0.0, order=(1, 2, 4, 5, 0, 3)))
STATES = 35
"""Two groups of sixteen, and some."""
TEMPERATURES = np.float32(10.0) ** np.linspace(-4, 3, STATES, dtype=np.float32)
"""Neighbouring states differ: some are computed with floats as they are, some with exponents."""


def everything(best, outputs, mask):
    """Soft values, marginals and entropies."""
    given = (outputs, TEMPERATURES)
    return (
        best.soft(*given, mask=mask),
        best.marginals(*given, mask=mask),
        best.entropy(*given, mask=mask),
    )


def problem():
    outputs = jnp.asarray(outputs_for(HYPERGRAPH, (STATES,), seed=4))
    mask = np.random.default_rng(0).random((STATES, HYPERGRAPH.num_outputs)) < 0.95
    return outputs, jnp.asarray(mask)


@pytest.fixture(scope="module")
def twins():
    """What the twin finds, once for all sets."""
    with jax.enable_x64(True):
        outputs, mask = problem()
        found = jax.jit(lambda o, m: everything(TWIN, o, m))(outputs.astype(float), mask)
        return [np.asarray(each) for each in found]


@pytest.mark.parametrize("name", SETS)
def test_soft_values_marginals_and_entropies_are_those_of_the_twin(name, twins, monkeypatch):
    force(name, monkeypatch)
    compute = jax.jit(lambda o, m: everything(NATIVE, o, m))
    used = {f"hyperaction_soft_{kernel}_{name}" for kernel in ("value", "marginals")}
    assert targets(compute, *problem()) == used
    values, marginals, entropies = compute(*problem())
    possible = np.asarray(values) > -np.inf
    assert possible.sum() > STATES / 2
    np.testing.assert_array_equal(possible, twins[0] > -np.inf)
    np.testing.assert_allclose(values, twins[0], rtol=2e-6, atol=2e-5)
    np.testing.assert_allclose(marginals, twins[1], atol=2e-3)
    # At high temperatures no rounding of the outputs matters.
    warm = TEMPERATURES > 0.1
    np.testing.assert_allclose(marginals[warm], twins[1][warm], atol=2e-5)
    np.testing.assert_allclose(entropies[warm], twins[2][warm], atol=1e-4)


@pytest.mark.skipif(len(SETS) < 2, reason="the machine has one instruction set")
def test_every_set_gives_the_same_bits(monkeypatch):
    outputs, mask = problem()
    results = []
    for name in SETS:
        force(name, monkeypatch)

        def compute(outputs, mask):
            drawn = NATIVE.sample(outputs, TEMPERATURES, jax.random.key(0), mask=mask)
            return everything(NATIVE, outputs, mask), drawn

        found = jax.jit(compute)(outputs, mask)
        results.append([leaf.tobytes() for leaf in jax.tree.leaves(found)])
    assert all(result == results[0] for result in results)


@pytest.mark.skipif(not SETS, reason="there are no kernels")
def test_a_state_gets_the_same_bits_in_any_company():
    outputs, _ = problem()
    together = NATIVE.soft(outputs, TEMPERATURES)
    alone = [NATIVE.soft(o, t) for o, t in zip(outputs[::6], TEMPERATURES[::6], strict=True)]
    np.testing.assert_array_equal(together[::6], np.stack(alone))


@pytest.mark.skipif(not SETS, reason="there are no kernels")
def test_many_tables_stay_in_the_range_of_floats():
    vertices = 35
    chain = [(v,) for v in range(vertices)] + [(v, v + 1) for v in range(vertices - 1)]
    hypergraph = Hypergraph((5,) * vertices, chain)
    outputs = outputs_for(hypergraph, (3,), seed=2)
    best = maximiser(hypergraph, use_native=True)
    twin = maximiser(hypergraph, use_native=False)
    for temperature in (0.01, 1.0, 1e5):
        soft = np.asarray(jax.jit(best.soft)(outputs, temperature))
        np.testing.assert_allclose(soft, twin.soft(outputs, temperature), rtol=1e-5)
    assert kernels.chosen_set() != isa.NONE
