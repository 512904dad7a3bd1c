"""Modules that tests make and call."""

import jax
import numpy as np


def made(make, seed=0):
    """What a function of a key makes: in one compiled program, which is faster than many."""
    return jax.jit(make)(jax.random.key(seed))


def called(function, *args):
    """What a function gives, in one compiled program too."""
    return jax.jit(lambda *args: function(*args))(*args)


def numbers_of(function):
    """The compiled function; it gives NumPy's arrays, whose arithmetic is not compiled."""
    compute = jax.jit(function)
    return lambda *args: jax.tree.map(np.asarray, compute(*args))
