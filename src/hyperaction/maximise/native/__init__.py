"""The compiled kernel: calls into C++ from compiled JAX programs, where it could be built."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

ELIMINATE = "hyperaction_eliminate"
SEARCH = "hyperaction_search"
PEAK = "hyperaction_peak"


@cache
def _loaded() -> bool:
    """Whether the kernel was built, fits this machine's JAX, and is now known to it."""
    for file in sorted(Path(__file__).parent.glob("_kernel*.so")):
        try:
            library = ctypes.CDLL(str(file))
            for name in (ELIMINATE, SEARCH, PEAK):
                capsule = jax.ffi.pycapsule(getattr(library, name))  # type: ignore[no-untyped-call]
                jax.ffi.register_ffi_target(name, capsule, platform="cpu")
        except (OSError, AttributeError, RuntimeError):
            continue  # Built for another Python or JAX: the pure JAX ways do the work.
        return True
    return False


def available() -> bool:
    """Whether the kernel can be used: it is built, and JAX computes on the CPU."""
    return _loaded() and jax.default_backend() == "cpu"


def eliminate(
    tables: Float[Array, "batch outputs"], program: NDArray[np.int32]
) -> Int[Array, "batch vertices"]:
    """The best action of every state, by a program of eliminations."""
    _loaded()
    result = jax.ShapeDtypeStruct((tables.shape[0], int(program[1])), jnp.int32)  # type: ignore[no-untyped-call]
    # Programs keep their shape under vmap but for leading ones, which the kernel does not see.
    return jax.ffi.ffi_call(ELIMINATE, result, vmap_method="expand_dims")(
        tables.astype(jnp.float32), program
    )


def search(
    tables: Float[Array, "batch outputs"],
    structure: NDArray[np.int32],
    *,
    steps: int,
    nodes: int,
    seed: int = 0,
) -> tuple[Int[Array, "batch vertices"], Float[Array, " batch"]]:
    """A good action of every state of rank two at most, and an upper bound of all actions' sums.

    Tabu search of so many steps; then, where nodes are given, branch and bound.
    """
    _loaded()
    results = (
        jax.ShapeDtypeStruct((tables.shape[0], int(structure[1])), jnp.int32),  # type: ignore[no-untyped-call]
        jax.ShapeDtypeStruct((tables.shape[0],), jnp.float32),  # type: ignore[no-untyped-call]
    )
    numbers = {"steps": np.int64(steps), "nodes": np.int64(nodes), "seed": np.int64(seed)}
    actions, bounds = jax.ffi.ffi_call(SEARCH, results, vmap_method="expand_dims")(
        tables.astype(jnp.float32), structure, **numbers
    )
    return actions, bounds


def peak(rounds: int) -> Float[Array, " lanes"]:
    """Adds as fast as a core can, 192 a round, and returns what does not matter."""
    _loaded()
    result = jax.ShapeDtypeStruct((16,), jnp.float32)  # type: ignore[no-untyped-call]
    return jax.ffi.ffi_call(PEAK, result)(rounds=np.int64(rounds))
