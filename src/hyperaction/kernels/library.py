"""Finds the compiled kernels, and registers their functions with JAX."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

import jax

from hyperaction.kernels import isa

HERE = Path(__file__).parent
NAMES = ("eliminate", "search", "adam", "rmsprop")

REFUSED: dict[str, str] = {}
"""Why each library that is there and should be used cannot be, by its file's name."""


@cache
def load(directory: Path, name: str, functions: tuple[str, ...]) -> bool:
    """Register the functions of a set's library with JAX; whether it was built and fits."""
    for file in sorted(directory.glob(f"_{name}*.so")):
        try:
            # Functions of another version of the interface are refused now. Registered earlier,
            # they would keep the backend from starting.
            jax.default_backend()
            library = ctypes.CDLL(str(file))
            for function in functions:
                handler = getattr(library, f"hyperaction_{function}")
                capsule = jax.ffi.pycapsule(handler)  # type: ignore[no-untyped-call]
                jax.ffi.register_ffi_target(
                    f"hyperaction_{function}_{name}", capsule, platform="cpu"
                )
        except (OSError, AttributeError, RuntimeError) as error:
            # Built for another machine or JAX: the pure JAX ways do the work.
            REFUSED[file.name] = str(error).partition("\n")[0]
            continue
        return True
    return False


def in_use() -> list[str]:
    """The names of the kernels that programs call here."""
    from hyperaction.kernels.conv import amx, bytes_gradient  # They import this module.

    names = [*NAMES, bytes_gradient.NAME] if available() else []
    return [*names, *(amx.NAMES if amx.available() else ())]


def problem() -> str:
    """Why kernels that were built are not in use, in one line; nothing if nothing is wrong."""
    if available() or os.environ.get(isa.VARIABLE) == isa.NONE:
        return ""
    load(HERE, isa.vector_set() or isa.BASELINE, NAMES)
    if not REFUSED:
        return ""  # None were built, or JAX computes elsewhere.
    file, reason = next(iter(REFUSED.items()))
    return (
        f"the kernels do not fit this machine or version of JAX and are not used: {file}: {reason}"
    )


def target(function: str) -> str:
    """The name by which JAX knows a function of the set in use."""
    assert available()
    return f"hyperaction_{function}_{isa.vector_set()}"


def available() -> bool:
    """Whether the kernels can be used: they are built, and JAX computes on the CPU."""
    chosen = isa.vector_set()
    built = chosen is not None and load(HERE, chosen, NAMES)
    return built and jax.default_backend() == "cpu"
