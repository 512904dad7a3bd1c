"""Finds the compiled kernel, and makes its functions known to JAX."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import jax

NAMES = ("eliminate", "search", "peak", "convolve_back", "adam", "rmsprop")


@cache
def library() -> ctypes.CDLL | None:
    """The kernel, if it was built and fits this machine's JAX, which now knows its functions."""
    for file in sorted(Path(__file__).parent.glob("_kernel*.so")):
        try:
            found = ctypes.CDLL(str(file))
            for name in NAMES:
                register(found, f"hyperaction_{name}")
        except (OSError, AttributeError, RuntimeError):
            continue  # Built for another Python or JAX: the pure JAX ways do the work.
        return found
    return None


def register(library: ctypes.CDLL, name: str) -> None:
    """Make a function of the kernel known to JAX."""
    capsule = jax.ffi.pycapsule(getattr(library, name))  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(name, capsule, platform="cpu")


def available() -> bool:
    """Whether the kernel can be used: it is built, and JAX computes on the CPU."""
    return library() is not None and jax.default_backend() == "cpu"
