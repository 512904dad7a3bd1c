"""Kernels in C++, called from compiled JAX programs where they could be built."""

from hyperaction.kernels import host
from hyperaction.kernels.bindings import (
    ADAM,
    RMSPROP,
    eliminate,
    optimise,
    search,
    soft_marginals,
    soft_sample,
    soft_value,
)
from hyperaction.kernels.isa import chosen_set, environment, machine_sets, refusal
from hyperaction.kernels.library import available, in_use, problem, serves, used

__all__ = [
    "ADAM",
    "RMSPROP",
    "available",
    "chosen_set",
    "eliminate",
    "environment",
    "host",
    "in_use",
    "machine_sets",
    "optimise",
    "problem",
    "refusal",
    "search",
    "serves",
    "soft_marginals",
    "soft_sample",
    "soft_value",
    "used",
]
