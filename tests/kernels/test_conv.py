"""Convolutions on every instruction set, against one position after the other."""

import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperaction import kernels
from hyperaction.kernels import isa, library
from hyperaction.kernels.conv import ConvSpec, conv2d
from hyperaction.kernels.conv.conv2d import conv2d_xla, serving_set

SETS = [*kernels.machine_sets(), isa.NONE]
HAS_AMX = isa.AMX in SETS


@pytest.fixture(params=SETS[-2:])
def instructions(request, monkeypatch):
    """The newest instruction set, or none; its kernels are used, fast or not."""
    monkeypatch.setenv(isa.VARIABLE, request.param)
    for function in library.CONVOLUTIONS:
        monkeypatch.setitem(library.FASTER, function, isa.SETS)
    return request.param


def slow(weight, images, gradient, spec):
    """What comes out, and the gradients of the weights and images, one position after the other."""
    if spec.of_bytes:
        images = np.moveaxis(images, 1, -1) / 255.0
    kernel = np.moveaxis(np.asarray(weight, float), 1, -1)  # [outputs, rows, columns, inputs]
    _, rows, columns, _ = kernel.shape
    pads = jax.lax.padtype_to_pads(images.shape[1:3], (rows, columns), spec.stride, spec.padding)
    padded = np.pad(images.astype(float), [(0, 0), *pads, (0, 0)])
    found = np.zeros(gradient.shape)
    to_weights, to_images = np.zeros_like(kernel), np.zeros_like(padded)
    for n, i, j in np.ndindex(gradient.shape[:3]):
        y, x = i * spec.stride[0], j * spec.stride[1]
        under = padded[n, y : y + rows, x : x + columns]
        found[n, i, j] = np.tensordot(kernel, under, 3)
        to_weights += gradient[n, i, j][:, None, None, None] * under
        to_images[n, y : y + rows, x : x + columns] += np.tensordot(gradient[n, i, j], kernel, 1)
    (top, _), (left, _) = pads
    height, width = images.shape[1:3]
    inside = to_images[:, top : top + height, left : left + width]
    return found, np.moveaxis(to_weights, -1, 1), inside


def assert_close(found, expected):
    # Of the largest number: AMX takes numbers of 16 bits, others of 24.
    tolerance = 2**-15 if kernels.chosen_set() == isa.AMX else 2**-18
    largest = np.abs(expected).max(initial=1e-6)
    np.testing.assert_allclose(found / largest, expected / largest, rtol=0, atol=tolerance)


def check(weight, images, spec, random):
    def many(weight, images):
        return jax.vmap(lambda image: conv2d(weight, image, spec))(images)

    def with_gradients(weight, images, gradient):
        by = (weight,) if spec.of_bytes else (weight, images)
        y, pull = jax.vjp(lambda *by: many(*by, *(() if by[1:] else (images,))), *by)
        return y, *pull(gradient)

    shape = jax.eval_shape(many, weight, images).shape
    gradient = random.normal(size=shape).astype(np.float32)
    found = jax.jit(with_gradients)(weight, images, gradient)
    expected = slow(weight, images, gradient, spec)
    for ours, reference in zip(found, expected, strict=not spec.of_bytes):
        assert_close(ours, reference)


@st.composite
def convolutions(draw: Any) -> tuple[ConvSpec, tuple[int, ...], tuple[int, ...], int]:
    """A convolution, the shapes of the weights and of an image, and how many images there are."""
    of_bytes = draw(st.booleans())
    stride = draw(st.integers(1, 4))
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    inputs = draw(st.integers(1, 4)) if of_bytes else 32 * draw(st.integers(1, 2))
    outputs = 32 * draw(st.integers(1, 2))
    height, width = rows + draw(st.integers(0, 9)), columns + draw(st.integers(0, 9))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    image = (inputs, height, width) if of_bytes else (height, width, inputs)
    spec = ConvSpec((stride, stride), padding, of_bytes)
    return spec, (outputs, inputs, rows, columns), image, draw(st.integers(1, 9))


@pytest.mark.parametrize("instructions", kernels.machine_sets(), indirect=True)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(convolutions(), st.integers(0, 99))
def test_every_set_finds_what_the_slow_reference_does(instructions, drawn, seed):
    spec, kernel, image, count = drawn
    random = np.random.default_rng(seed)
    weight = jnp.asarray(random.normal(size=kernel), jnp.float32)
    if spec.of_bytes:
        images = random.integers(0, 256, (count, *image), np.uint8)
    else:
        images = random.normal(size=(count, *image)).astype(np.float32)
    assert serving_set(weight, images[0], spec)
    check(weight, images, spec, random)


@pytest.mark.parametrize(
    ("shape", "padding"), [((4, 21, 21), "SAME"), ((3, 24, 20), "VALID"), ((1, 23, 18), "SAME")]
)
def test_a_first_convolution_of_any_number_of_channels(instructions, shape, padding):
    random = np.random.default_rng(0)
    weight = jnp.asarray(random.normal(size=(32, shape[0], 8, 8)), jnp.float32)
    images = random.integers(0, 256, (3, *shape), np.uint8)
    check(weight, images, ConvSpec((4, 4), padding, True), random)


def test_gradients_image_by_image_and_weights_of_their_own(instructions):
    random = np.random.default_rng(0)
    spec = ConvSpec((2, 2), "SAME", False)
    weight = jnp.asarray(random.normal(size=(3, 32, 32, 4, 4)), jnp.float32)
    images = jnp.asarray(random.normal(size=(3, 7, 6, 32)), jnp.float32)
    gradient = random.normal(size=(4, 3, 32)).astype(np.float32)

    def loss(weight, image):
        return (conv2d(weight, image, spec) * gradient).sum()

    @jax.jit
    def gradients(weight, images):
        each = jax.grad(loss, argnums=(0, 1))
        own = jax.vmap(each)(weight, images)
        shared = jax.vmap(each, in_axes=(None, 0))(weight[0], images)
        return own, shared, jax.vmap(each, in_axes=(0, None))(weight, images[0])

    own, shared, same_image = gradients(weight, images)
    for number in range(3):
        for found, w, x in (
            (own, number, number),
            (shared, 0, number),
            (same_image, number, 0),
        ):
            _, to_weights, to_images = slow(
                weight[w], np.asarray(images[x : x + 1]), gradient[None], spec
            )
            assert_close(found[0][number], to_weights)
            assert_close(found[1][number], to_images[0])


def test_two_strides_are_left_to_xla():
    random = np.random.default_rng(0)
    weight = jnp.asarray(random.normal(size=(32, 32, 4, 4)), jnp.float32)
    check(
        weight,
        random.normal(size=(2, 9, 8, 32)).astype(np.float32),
        ConvSpec((2, 1), "SAME", False),
        random,
    )


def test_padding_in_numbers_is_left_to_xla():
    random = np.random.default_rng(0)
    weight = jnp.asarray(random.normal(size=(32, 32, 4, 4)), jnp.float32)
    images = random.normal(size=(2, 9, 8, 32)).astype(np.float32)
    found = conv2d(weight, images[0], ConvSpec((2, 2), ((1, 2), (1, 1)), False))
    around = np.pad(images[0], ((1, 2), (1, 1), (0, 0)))
    assert_close(found, np.asarray(conv2d(weight, around, ConvSpec((2, 2), "VALID", False))))


def test_second_derivatives(instructions):
    random = np.random.default_rng(0)
    spec = ConvSpec((2, 2), "SAME", False)
    weight = jnp.asarray(random.normal(size=(32, 32, 2, 4)), jnp.float32)
    image = jnp.asarray(random.normal(size=(5, 6, 32)), jnp.float32)
    along = tuple(jnp.asarray(random.normal(size=x.shape), jnp.float32) for x in (weight, image))

    def slope(conv2d):
        gradient = jax.grad(lambda *both: (conv2d(*both, spec) ** 2).sum(), argnums=(0, 1))
        product = jax.grad(lambda *both: sum(map(jnp.vdot, gradient(*both), along)), (0, 1))
        return jax.jit(product)(weight, image)

    for found, expected in zip(slope(conv2d), slope(conv2d_xla), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize(("count", "height"), [(0, 5), (2, 0), (2, 3)])
def test_nothing_to_convolve_has_no_gradient(instructions, count, height):
    spec = ConvSpec((1, 1), "VALID", False)
    weight = jnp.ones((32, 32, 4, 4), jnp.float32)
    images = jnp.ones((count, height, 6, 32), jnp.float32)

    def total(weight, images):
        return jax.vmap(lambda image: conv2d(weight, image, spec))(images).sum()

    of_weights, of_images = jax.jit(jax.grad(total, argnums=(0, 1)))(weight, images)
    assert (of_weights.shape, of_images.shape) == (weight.shape, images.shape)
    assert not np.asarray(of_weights).any()
    assert not np.asarray(of_images).any()


def test_nan_spreads_to_every_result_that_sees_it(instructions):
    spec = ConvSpec((1, 1), "SAME", False)
    weight = jnp.ones((32, 32, 3, 3), jnp.float32)
    image = jnp.ones((6, 6, 32), jnp.float32).at[2, 3, 4].set(jnp.nan)
    gradient = jax.grad(lambda weight: conv2d(weight, image, spec).sum())(weight)
    found = np.isnan(conv2d(weight, image, spec))
    assert found[1:4, 2:5].all()
    assert found.sum() == 9 * 32
    assert np.isnan(gradient[:, 4]).all()


@pytest.mark.parametrize("name", kernels.machine_sets())
def test_convolutions_are_left_to_xla_where_that_is_faster(name, monkeypatch):
    monkeypatch.setenv(isa.VARIABLE, name)
    weight, image = jnp.ones((32, 32, 3, 3), jnp.float32), jnp.ones((6, 6, 32), jnp.float32)
    program = jax.jit(lambda *both: conv2d(*both, ConvSpec((1, 1), "SAME", False)))
    used = f"hyperaction_forward_{name}" in program.lower(weight, image).as_text()
    assert used == (name in library.FASTER["forward"])
    assert used == (name != isa.BASELINE)


@pytest.mark.skipif(not HAS_AMX, reason="the processor has no AMX")
def test_amx_gives_the_same_numbers_with_any_number_of_threads():
    found = []
    for cores in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
        command = [sys.executable, "-c", SCRIPT, *map(str, cores)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(done.stdout)
    assert len(found[0].strip()) == 64
    assert found[0] == found[1]


SCRIPT = """
import hashlib, os, sys
os.sched_setaffinity(0, map(int, sys.argv[1:]))
import jax, jax.numpy as jnp, numpy as np
from hyperaction.kernels.conv import ConvSpec, conv2d
random = np.random.default_rng(0)
weight = jnp.asarray(random.normal(size=(64, 32, 4, 4)), jnp.float32)
images = jnp.asarray(random.normal(size=(32, 21, 21, 32)), jnp.float32)
def loss(weight, images):
    one = lambda image: conv2d(weight, image, ConvSpec((2, 2), "SAME", False))
    return (jax.vmap(one)(images) ** 2).sum()
found = jax.jit(jax.grad(loss, argnums=(0, 1)))(weight, images)
print(hashlib.sha256(b"".join(each.tobytes() for each in found)).hexdigest())
"""
