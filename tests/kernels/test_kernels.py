"""Every kernel on every instruction set of this machine, against its twin in JAX."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperaction import Hypergraph, kernels, maximiser
from hyperaction.agents.optimisers import OPTIMISERS
from hyperaction.kernels import isa, library
from hyperaction.maximise.search import structure
from tests.strategies import NEEDS_KERNEL, hypergraphs, outputs_for

SETS = [name for name in kernels.machine_sets() if name != isa.AMX]
"""AMX is for convolutions alone (see test_conv.py)."""

ON_EVERY_SET = pytest.mark.parametrize("instructions", SETS, indirect=True)
MANY = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def instructions(request, monkeypatch):
    """An instruction set; the others are out of reach."""
    force(request.param, monkeypatch)
    return request.param


def force(name, monkeypatch):
    """Use a set from now on, and no program that was compiled for another one."""
    monkeypatch.setenv(isa.VARIABLE, name)
    jax.clear_caches()


def targets(function, *args):
    """The functions of ours that a program calls."""
    return set(re.findall(r"hyperaction_\w+", jax.jit(function).lower(*args).as_text()))


@NEEDS_KERNEL
def test_the_kernels_were_built():
    assert kernels.available()
    assert isa.BASELINE in kernels.machine_sets()


@MANY
@given(hypergraph=hypergraphs(max_vertices=7), seed=st.integers(0, 99), count=st.integers(1, 40))
def test_elimination_finds_the_maxima_of_its_twin_on_every_set(
    monkeypatch, hypergraph, seed, count
):
    outputs = outputs_for(hypergraph, (count,), seed)
    found = maximiser(hypergraph, way="elimination", use_native=True)
    twin = maximiser(hypergraph, way="elimination", use_native=False)
    expected = np.asarray(twin.max(outputs))
    for instructions in SETS:
        force(instructions, monkeypatch)
        compute = jax.jit(lambda outputs: found.value_and_action(outputs)).lower(outputs)
        called = set(re.findall(r"hyperaction_\w+", compute.as_text()))
        assert called == {f"hyperaction_eliminate_{instructions}"}
        values, actions = map(np.asarray, compute.compile()(outputs))
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-4)
        chosen = hypergraph.representation(outputs, actions).sum(axis=-1)
        np.testing.assert_allclose(chosen, values, rtol=1e-5, atol=1e-4)


@ON_EVERY_SET
@pytest.mark.parametrize("rank", [2, 3])
def test_searches_are_at_least_as_good_as_their_twin(instructions, rank):
    hypergraph = Hypergraph.complete((5,) * 9 if rank == 2 else (4, 3, 4, 2, 4, 3, 4), rank)
    outputs = outputs_for(hypergraph, (6,), seed=2)
    plan = structure(hypergraph)
    search = jax.jit(lambda x: kernels.search(x, plan, steps=500, sweeps=5, nodes=2000))
    actions, bounds = search(outputs)
    values = hypergraph.representation(outputs, np.asarray(actions)).sum(axis=-1)
    twin = maximiser(hypergraph, way="ascent", use_native=False).max(outputs)
    optima = maximiser(hypergraph, way="elimination", budget=1e9).max(outputs)
    assert (values >= np.asarray(twin) - 1e-4).all()
    np.testing.assert_allclose(values, optima, rtol=1e-5)
    assert (np.asarray(bounds) >= np.asarray(optima) - 1e-4).all()


@ON_EVERY_SET
def test_states_are_bounded_alike_alone_and_side_by_side(instructions):
    hypergraph = Hypergraph((3, 2, 4, 3, 2), [(0, 1, 2), (1, 3), (0, 2, 3, 4), (2, 4), (4,)])
    outputs = outputs_for(hypergraph, (19,), seed=2)
    plan = structure(hypergraph)
    search = jax.jit(lambda x: kernels.search(x, plan, steps=9, sweeps=4))
    every = search(outputs)
    alone = [search(outputs[i : i + 1]) for i in range(len(outputs))]
    for together, each in zip(every, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(together, np.concatenate(each))


@NEEDS_KERNEL
@pytest.mark.parametrize("name", sorted(OPTIMISERS))
def test_optimisers_step_as_their_twin_on_every_set(name, monkeypatch):
    optimiser = OPTIMISERS[name](0.01, 0.003)
    sizes = (1, 7, 33, 1000)
    gradients = [
        np.random.default_rng(size).normal(size=(3, size)).astype(np.float32) for size in sizes
    ]

    def steps(gradients):
        x = jnp.linspace(-1.0, 1.0, gradients.shape[1])
        state = optimiser.init(x)
        for gradient in gradients:
            x, state = optimiser.update(x, gradient, state)
        return x, state.mean, state.square

    stepped = {}
    for forced in (*SETS, isa.NONE):
        force(forced, monkeypatch)
        assert kernels.available() == (forced != isa.NONE)
        compute = jax.jit(lambda each: [steps(one) for one in each])
        stepped[forced] = jax.tree.leaves(compute(gradients))
    for instructions in SETS:
        for ours, twin in zip(stepped[instructions], stepped[isa.NONE], strict=True):
            np.testing.assert_allclose(ours, twin, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(len(SETS) < 2, reason="the machine has one instruction set")
def test_every_set_gives_the_same_bits(monkeypatch):
    hypergraph = Hypergraph.complete((5, 4, 3, 5, 2, 5, 3, 4, 5, 2), 2)
    tables = jnp.asarray(outputs_for(hypergraph, (21,), seed=4))
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(5, 999)), jnp.float32)
    tangled = Hypergraph((3, 2, 4, 3, 2, 5), [(0, 1, 2), (1, 3), (0, 2, 3, 4), (2, 4), (1, 5)])
    others = jnp.asarray(outputs_for(tangled, (21,), seed=4))
    plan, tangled_plan = structure(hypergraph), structure(tangled)
    results = []
    for name in SETS:
        force(name, monkeypatch)
        best = maximiser(hypergraph, way="elimination", use_native=True, budget=1e9)

        def everything(best=best):
            step = (jnp.float32(0.1), *noise[:3], noise[3] ** 2, (0.9, 0.999), 1e-3)
            return (
                best.argmax(tables),
                kernels.search(tables, plan, steps=300, sweeps=5, nodes=50),
                kernels.search(others, tangled_plan, steps=30, sweeps=5, nodes=5),
                kernels.optimise(kernels.ADAM, *step),
                kernels.optimise(kernels.RMSPROP, *step),
            )

        assert len(targets(everything)) == 4
        assert all(target.endswith(name) for target in targets(everything))
        results.append([leaf.tobytes() for leaf in jax.tree.leaves(jax.jit(everything)())])
    assert all(result == results[0] for result in results)


def test_the_newest_set_is_used_unless_one_is_forced(monkeypatch):
    monkeypatch.delenv(isa.VARIABLE, raising=False)
    has = kernels.machine_sets()
    assert kernels.chosen_set() == (has[-1] if has else None)
    for name in has:
        monkeypatch.setenv(isa.VARIABLE, name)
        assert kernels.chosen_set() == name
    monkeypatch.setenv(isa.VARIABLE, isa.NONE)
    assert kernels.chosen_set() is None
    assert not kernels.available()


def test_a_set_that_the_machine_has_not_is_refused(monkeypatch):
    monkeypatch.setattr(isa, "machine_sets", lambda: (isa.BASELINE, isa.AVX2))
    monkeypatch.setenv(isa.VARIABLE, isa.AVX512)
    with pytest.raises(
        ValueError, match=r"=avx512 cannot be used: this machine has baseline, avx2"
    ):
        kernels.available()
    monkeypatch.setenv(isa.VARIABLE, "sse9")
    with pytest.raises(ValueError, match="choose from baseline, avx2, avx512, amx, none; this"):
        kernels.available()
    monkeypatch.setattr(isa, "machine_sets", lambda: ())
    with pytest.raises(ValueError, match="no kernels were built here"):
        kernels.available()


def test_the_environment_of_a_forced_set_binds_xla_and_pytorch_too():
    forced = kernels.environment("avx2", {"XLA_FLAGS": "--a=1"})
    assert forced == {
        isa.VARIABLE: "avx2",
        "XLA_FLAGS": "--a=1 --xla_cpu_max_isa=AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    }
    assert kernels.environment("none", {}) == {isa.VARIABLE: "none"}
    assert all(kernels.environment(name, {})[isa.VARIABLE] == name for name in isa.SETS)


@NEEDS_KERNEL
def test_a_kernel_that_is_slower_than_its_twin_is_not_used(monkeypatch):
    monkeypatch.setenv(isa.VARIABLE, isa.BASELINE)
    jax.clear_caches()
    hypergraph = Hypergraph.complete((3, 3, 3), 2)
    outputs = outputs_for(hypergraph, (2,), seed=0)

    def used(rule=OPTIMISERS["adam"](0.01, 0.003)):
        x = jnp.ones(3)
        found = targets(lambda x: maximiser(hypergraph).max(x), outputs)
        return found | targets(lambda x: rule.update(x, x, rule.init(x)), x)

    assert used() == {"hyperaction_eliminate_baseline", "hyperaction_adam_baseline"}
    monkeypatch.setitem(library.FASTER, "adam", (isa.AVX2,))
    assert used() == {"hyperaction_eliminate_baseline"}
    monkeypatch.setitem(library.FASTER, "eliminate", ())
    assert used() == set()


@NEEDS_KERNEL
def test_what_was_used_is_reported(monkeypatch):
    monkeypatch.setattr(library, "_used", set())
    monkeypatch.setenv(isa.VARIABLE, isa.BASELINE)
    assert kernels.used() == ()
    step = (jnp.float32(0.1), *jnp.ones((4, 3)), (0.9, 0.999), 1e-3)
    jax.eval_shape(lambda: kernels.optimise(kernels.ADAM, *step))
    assert kernels.used() == ("adam",)
