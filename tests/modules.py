"""Modules that tests make and call."""

import jax
import jax.numpy as jnp
import numpy as np


def made(make, seed=0):
    """What a function of a key makes: in one compiled program, which is faster than many."""
    return jax.jit(make)(jax.random.key(seed))


def random_like(shapes, seed=0):
    """Arrays of these shapes, of random numbers: nothing is compiled."""
    random = np.random.default_rng(seed)
    drawn = [
        jnp.asarray(random.normal(scale=0.4, size=leaf.shape).astype(leaf.dtype))
        for leaf in jax.tree.leaves(shapes)
    ]
    return jax.tree.unflatten(jax.tree.structure(shapes), drawn)


def called(function, *args):
    """What a function gives, in one compiled program too."""
    return jax.jit(lambda *args: function(*args))(*args)


def numbers_of(function):
    """The compiled function; it gives NumPy's arrays, whose arithmetic is not compiled."""
    compute = jax.jit(function)
    return lambda *args: jax.tree.map(np.asarray, compute(*args))
