"""Targets and losses of one transition, by hand."""

import jax.numpy as jnp
import numpy as np

from hyperaction.losses import huber, squared, td_target


def test_losses_by_hand():
    assert td_target(jnp.float32(1.0), jnp.float32(0.5), jnp.float32(4.0)) == 3.0
    assert td_target(jnp.float32(1.0), jnp.float32(0.0), jnp.float32(-jnp.inf)) == 1.0
    assert squared(jnp.float32(-3.0)) == 9.0
    np.testing.assert_allclose([huber(jnp.float32(x)) for x in (0.5, -1, 3)], [0.125, 0.5, 2.5])
