"""Optimisers against TensorFlow's equations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hyperaction import kernels
from hyperaction.agents.optimisers import OPTIMISERS
from hyperaction.agents.schedules import Linear


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["adam", "rmsprop"])
def test_optimisers_step_as_in_tensorflow(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(kernels, "available", lambda: False)
    gradients = np.random.default_rng(0).normal(size=(5, 40, 3)) * 0.01
    ours = OPTIMISERS[name](0.1, 0.003)
    parameters = {"x": np.ones((40, 3), np.float32), "y": np.ones((), np.float32)}
    state, update = jax.jit(ours.init)(parameters), jax.jit(ours.update)
    by_hand, mean, square = np.ones((40, 3)), 0.0, 0.0 if name == "adam" else 1.0
    for count, gradient in enumerate(gradients, start=1):
        both = {"x": gradient.astype(np.float32), "y": np.zeros((), np.float32)}
        parameters, state = update(parameters, both, state)
        if name == "adam":  # Epsilon is added to the root of the uncorrected mean.
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            rate = 0.1 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            by_hand = by_hand - rate * mean / (np.sqrt(square) + 0.003)
        else:  # The squares are centred and start at one, and epsilon is inside the root.
            mean = 0.95 * mean + 0.05 * gradient
            square = 0.95 * square + 0.05 * gradient**2
            by_hand = by_hand - 0.1 * gradient / np.sqrt(square - mean**2 + 0.003)
        np.testing.assert_allclose(parameters["x"], by_hand, rtol=1e-5)
    assert parameters["y"] == 1.0


@pytest.mark.parametrize("compiled", [True, False])
def test_rmsprop_survives_gradients_that_never_change(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(kernels, "available", lambda: False)
    ours = OPTIMISERS["rmsprop"](0.1, 1e-5)
    parameters = np.zeros(300, np.float32)
    gradient = np.linspace(100.0, 1000.0, 300, dtype=np.float32)
    state, update = jax.jit(ours.init)(parameters), jax.jit(ours.update)
    for _ in range(600):
        parameters, state = update(parameters, gradient, state)
    assert np.isfinite(parameters).all()


def test_gradients_are_clipped_by_their_norm():
    ours = OPTIMISERS["rmsprop"](0.1, 0.003, gradient_clip=1.0)

    @jax.jit
    def step(gradient):
        parameters = jnp.zeros(4)
        return ours.update(parameters, gradient, ours.init(parameters))[0]

    long, short = (step(np.full(4, each, np.float32)) for each in (100.0, 0.5))
    np.testing.assert_allclose(long, short, rtol=1e-6)


def test_the_learning_rate_can_be_a_schedule_over_updates():
    gradient, steps = np.ones(4, np.float32), {}
    for rate in (0.1, Linear(0.1, 0.0, 2)):
        ours, parameters = OPTIMISERS["adam"](rate), np.zeros(4, np.float32)
        (state, before), update = (jax.jit(ours.init)(parameters), 0.0), jax.jit(ours.update)
        steps[rate] = []
        for _ in range(4):
            parameters, state = update(parameters, gradient, state)
            now = float(np.asarray(parameters)[0])
            steps[rate].append(now - before)
            before = now
    constant, falling = steps.values()
    share = np.array([1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(falling, share * constant, rtol=1e-4, atol=1e-7)


def test_weights_decay_in_proportion_to_the_learning_rate():
    parameters = np.linspace(-1.0, 1.0, 5, dtype=np.float32)
    rules = OPTIMISERS["adam"](0.1), OPTIMISERS["adam"](0.1, weight_decay=0.2)

    @jax.jit
    def steps(x):
        return [rule.update(x, jnp.ones(5), rule.init(x))[0] for rule in rules]

    one, other = map(np.asarray, steps(parameters))
    np.testing.assert_allclose(other, one - 0.1 * 0.2 * parameters, rtol=1e-5, atol=1e-7)
