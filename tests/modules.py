"""Modules that tests make and call."""

import jax


def made(make, seed=0):
    """What a function of a key makes: in one compiled program, which is faster than many."""
    return jax.jit(make)(jax.random.key(seed))


def called(function, *args):
    """What a function gives, in one compiled program too."""
    return jax.jit(lambda *args: function(*args))(*args)
