"""The best joint actions of tensors, against brute force and against JAX's."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from hyperaction import Cardinality, Hypergraph, kernels, maximiser  # noqa: E402
from hyperaction.errors import SettingError  # noqa: E402
from hyperaction.kernels import isa  # noqa: E402
from hyperaction.maximise import host  # noqa: E402
from hyperaction.maximise.extension import extension  # noqa: E402
from hyperaction.torch import maximise  # noqa: E402
from tests.maximise.problems import (  # noqa: E402
    assert_best,
    random_mask,
    slow_allowed,
)
from tests.strategies import NEEDS_KERNEL, hypergraphs, outputs_for  # noqa: E402

PAIRS = Hypergraph.complete((3, 2, 4), 2)
DENSE = Hypergraph.complete((5,) * 17, 2)
"""Past the reach of elimination."""


def tensor(hypergraph, batch=(), seed=0, **options):
    return torch.tensor(outputs_for(hypergraph, batch, seed), **options)


@given(hypergraph=hypergraphs(), seed=st.integers(0, 99), count=st.integers(1, 20))
def test_no_joint_action_is_better(hypergraph, seed, count):
    outputs = tensor(hypergraph, (count,), seed)
    values, actions = maximise(hypergraph, outputs)
    assert actions.dtype == torch.int64
    assert_best(hypergraph, outputs.numpy(), values, actions)


@given(hypergraph=hypergraphs(max_vertices=4), seed=st.integers(0, 99))
def test_no_allowed_joint_action_is_better(hypergraph, seed):
    outputs = tensor(hypergraph, (4,), seed)
    random = np.random.default_rng(seed)
    mask = random.random((4, sum(hypergraph.sizes))) < 0.7
    starts = np.cumsum((0, *hypergraph.sizes[:-1]))
    mask[:, starts] = True  # Something is always allowed.
    values, actions = maximise(hypergraph, outputs, torch.tensor(mask))
    allows = lambda row, action: mask[row][starts + np.array(action)].all()  # noqa: E731
    assert_best(hypergraph, outputs.numpy(), values, actions, allowed=allows)


@settings(max_examples=10)
@given(hypergraph=hypergraphs(max_vertices=4), seed=st.integers(0, 99))
def test_masks_of_entries_hold_for_every_hyperedge(hypergraph, seed):
    if hypergraph.num_outputs == sum(hypergraph.sizes):
        return  # Sub-actions are meant.
    outputs, mask = tensor(hypergraph, (3,), seed), random_mask(hypergraph, 3, seed, share=0.9)
    allows = slow_allowed(hypergraph, mask)
    every = [tuple(action) for action in hypergraph.all_actions().tolist()]
    if not all(any(allows(row, action) for action in every) for row in range(3)):
        with pytest.raises(ValueError, match=r"the mask of state . leaves no action"):
            maximise(hypergraph, outputs, torch.tensor(mask))
        return
    values, actions = maximise(hypergraph, outputs, torch.tensor(mask))
    assert_best(hypergraph, outputs.numpy(), values, actions, allowed=allows)


@pytest.mark.parametrize(
    "constraints", [Cardinality(at_most=1), {(0, 2): np.eye(3, 4) == 1}], ids=["count", "table"]
)
def test_constraints_hold_in_every_state_beside_a_mask(constraints):
    outputs = tensor(PAIRS, (6,))
    mask = torch.ones(sum(PAIRS.sizes), dtype=torch.bool)
    mask[1] = False  # Vertex 0 has no sub-action 1.
    best = maximiser(PAIRS, constraints=constraints)
    for given_mask in (None, mask):
        values, actions = maximise(PAIRS, outputs, given_mask, constraints=constraints)
        array = None if given_mask is None else given_mask.numpy()
        want = best.value_and_action(outputs.numpy(), mask=array)
        np.testing.assert_allclose(values, want[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(actions, want[1])


def test_a_dictionary_is_a_mask_for_all_states():
    outputs = tensor(PAIRS, (5,))
    mask = {
        0: [False, True, True],
        (1, 2): [[True, False, True, False], [False, True, False, True]],
    }
    values, actions = maximise(PAIRS, outputs, mask)
    want = maximiser(PAIRS).value_and_action(outputs.numpy(), mask=mask)
    np.testing.assert_allclose(values, want[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(actions, want[1])


def test_gradients_are_the_weights_at_the_best_entries_and_zero_elsewhere():
    outputs = tensor(PAIRS, (2, 3), dtype=torch.float64, requires_grad=True)
    weights = torch.linspace(0.5, 2.0, PAIRS.num_edges, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *given: maximise(PAIRS, given[0], weights=given[1]).values, (outputs, weights)
    )
    values, actions = maximise(PAIRS, outputs, weights=weights)
    assert not actions.requires_grad
    values.sum().backward()
    places = PAIRS.indices(actions.numpy())
    want = np.zeros(outputs.shape)
    np.put_along_axis(want, places, np.broadcast_to(weights.detach(), places.shape), axis=-1)
    np.testing.assert_allclose(outputs.grad, want)


@pytest.mark.parametrize("batch", [(), (0,), (1,), (2, 0, 3), (2, 3)], ids=str)
def test_leading_axes_are_kept(batch):
    values, actions = maximise(PAIRS, tensor(PAIRS, batch))
    assert values.shape == batch
    assert actions.shape == (*batch, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_values_have_the_type_of_the_outputs(dtype):
    outputs = tensor(PAIRS, (4,)).to(dtype)
    values, actions = maximise(PAIRS, outputs)
    assert values.dtype == dtype
    want = maximise(PAIRS, outputs.float())
    torch.testing.assert_close(actions, want.actions)


@NEEDS_KERNEL
@pytest.mark.parametrize("masked", [False, True])
def test_searches_reach_what_they_reach_in_jax(masked):
    outputs = tensor(DENSE, (5,))
    mask = None
    if masked:
        mask = torch.tensor(np.random.default_rng(0).random((5, 85)) < 0.8)
    assert host.plan(extension(DENSE), 0.002, masked=masked).way.name == "ascent"
    values, actions = maximise(DENSE, outputs, mask)
    want = maximiser(DENSE).max(outputs.numpy(), mask=None if mask is None else mask.numpy())
    np.testing.assert_allclose(values, want, rtol=1e-5)
    chosen = DENSE.representation(outputs.numpy(), actions.numpy()).sum(axis=-1)
    np.testing.assert_allclose(chosen, values, rtol=1e-5)
    if masked:
        assert mask.reshape(5, 17, 5).gather(2, actions[..., None]).all()


@pytest.mark.parametrize("name", [*[s for s in kernels.machine_sets() if s != isa.AMX], "none"])
def test_every_instruction_set_and_jax_alone_find_the_same(name, monkeypatch):
    outputs = tensor(PAIRS, (40,))
    want = maximise(PAIRS, outputs)
    monkeypatch.setenv(isa.VARIABLE, name)
    assert kernels.host.available() == (name != "none")
    found = maximise(PAIRS, outputs)
    torch.testing.assert_close(found.actions, want.actions)
    torch.testing.assert_close(found.values, want.values, rtol=0, atol=0)


def test_infinities_forbid_or_win_and_nan_is_refused():
    outputs = tensor(PAIRS, (2,))
    outputs[0, 0:2] = -torch.inf
    outputs[1, 3] = torch.inf
    values, actions = maximise(PAIRS, outputs)
    assert actions[0, 0] == 2
    assert actions[1, 1] == 0
    assert values[1] == torch.inf
    outputs[1, 4] = torch.nan
    with pytest.raises(ValueError, match="the outputs of state 1 hold NaN"):
        maximise(PAIRS, outputs)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 4] = False  # What is forbidden may be NaN.
    assert maximise(PAIRS, outputs, mask).actions[1, 1] == 0
    mask[0, :3] = False
    with pytest.raises(ValueError, match="the mask of state 0 leaves no action"):
        maximise(PAIRS, outputs, mask)


MASK = torch.ones(9, dtype=torch.bool)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((PAIRS, np.zeros(35)), "outputs must be a tensor, not ndarray"),
        (
            (PAIRS, torch.zeros(4, 7)),
            "outputs has shape (4, 7); its last axis must be 35 long, one",
        ),
        ((PAIRS, torch.zeros(35, dtype=torch.int64)), "outputs must be real numbers, not"),
        (([3, 2, 4], torch.zeros(35)), "hypergraph must be a Hypergraph, such as"),
        (
            (PAIRS, torch.zeros(35), MASK.int()),
            "mask must hold true where allowed, not torch.int32",
        ),
        ((PAIRS, torch.zeros(35), MASK[:5]), "mask has shape (5,); its last axis must be 9 long"),
        ((PAIRS, torch.zeros(2, 35), MASK.expand(3, 9)), "mask has shape (3, 9), but the outputs"),
        ((PAIRS, torch.zeros(35), [True] * 9), "mask must be a tensor, or a dictionary from"),
        ((PAIRS, torch.zeros(35), MASK.to("meta")), "mask must be on cpu, as the outputs are"),
    ],
)
def test_mistakes_are_named_in_one_line(args, message):
    with pytest.raises(SettingError) as caught:
        maximise(*args)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@NEEDS_KERNEL
def test_no_backend_of_jax_is_started():
    code = (
        "import torch; from hyperaction import Hypergraph; from hyperaction.torch import *\n"
        "head = HypergraphHead(Hypergraph.complete((3, 3, 3), 2), 8)\n"
        "mask = torch.ones(9, dtype=torch.bool)\n"
        "head.maximise(torch.zeros(4, 8), mask).values.sum().backward()\n"
        "from jax._src import xla_bridge; print(xla_bridge.backends_are_initialized())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_without_pytorch_the_import_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None\nimport hyperaction.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: hyperaction.torch needs PyTorch: pip install")
