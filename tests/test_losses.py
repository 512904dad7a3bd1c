"""Targets and losses of one transition, by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction.losses import huber, quantile_huber, squared, td_target, without_largest


def test_losses_by_hand():
    assert td_target(jnp.float32(1.0), jnp.float32(0.5), jnp.float32(4.0)) == 3.0
    assert td_target(jnp.float32(1.0), jnp.float32(0.0), jnp.float32(-jnp.inf)) == 1.0
    assert squared(jnp.float32(-3.0)) == 9.0
    np.testing.assert_allclose([huber(jnp.float32(x)) for x in (0.5, -1, 3)], [0.125, 0.5, 2.5])


def test_the_largest_are_left_out():
    values = jnp.array([3.0, 1.0, 3.0, 2.0, -1.0])
    for count, expected in {
        0: [1, 1, 1, 1, 1],
        1: [0, 1, 1, 1, 1],
        3: [0, 1, 0, 0, 1],
        5: [0, 0, 0, 0, 0],
    }.items():
        np.testing.assert_allclose(without_largest(values, count), expected)


def test_the_gradient_of_the_quantile_loss_is_its_slope():
    random = np.random.default_rng(0)
    quantiles, targets, weights = random.normal(size=5), random.normal(size=7), random.random(7)

    def loss(quantiles, kappa):
        total = 0.0
        for place, quantile in enumerate(quantiles):
            for target, weight in zip(targets, weights, strict=True):
                error = target - quantile
                inner = min(abs(error), kappa)
                value = kappa * (0.5 * (inner / kappa) ** 2 + (abs(error) - inner) / kappa)
                total += weight * abs((place + 0.5) / 5 - (error < 0)) * value
        return total / weights.sum()

    for kappa in (0.3, 1.0):

        def fast(quantiles, kappa=kappa):
            given = jnp.asarray(targets), kappa, jnp.asarray(weights)
            return quantile_huber(quantiles, *given).sum()

        value, slope = jax.value_and_grad(fast)(jnp.asarray(quantiles))
        np.testing.assert_allclose(value, loss(quantiles, kappa), rtol=1e-5)
        for place in range(5):
            step = 1e-5 * np.eye(5)[place]
            difference = loss(quantiles + step, kappa) - loss(quantiles - step, kappa)
            np.testing.assert_allclose(slope[place], difference / 2e-5, rtol=1e-3, atol=1e-6)
