"""Finds the compiled kernels, registers their functions with JAX, and says which are used."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

import jax

from hyperaction.kernels import isa
from hyperaction.kernels.isa import AMX, AVX2, AVX512, BASELINE

HERE = Path(__file__).parent
SOFT = ("soft_value", "soft_marginals", "soft_sample")
NAMES = ("eliminate", "search", "adam", "rmsprop", *SOFT)
CONVOLUTIONS = ("forward", "input_gradient", "weight_gradient")
FASTER = {
    **dict.fromkeys(NAMES, (BASELINE, AVX2, AVX512)),
    **dict.fromkeys(CONVOLUTIONS, (AVX2, AVX512, AMX)),
}
"""The sets on which each kernel is used: where it is faster (docs/contributing/kernels.md)."""

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


_used: set[str] = set()


def target(function: str, name: str | None = None) -> str:
    """The name by which JAX knows a function of a set, by default of the one in use."""
    assert available()
    mark_used(function)
    return f"hyperaction_{function}_{name or isa.vector_set()}"


def mark_used(function: str) -> None:
    """Notes that a kernel is called."""
    _used.add(function)


def used() -> tuple[str, ...]:
    """The kernels that programs of this process call, so far."""
    return tuple(function for function in FASTER if function in _used)


def available() -> bool:
    """Whether the kernels can be used: they are built, and JAX computes on the CPU."""
    chosen = isa.vector_set()
    built = chosen is not None and load(HERE, chosen, NAMES)
    return built and jax.default_backend() == "cpu"


def serves(function: str, name: str | None = None) -> bool:
    """Whether a kernel is to be used: it is there, and faster than its twin in JAX.

    Args:
        function: The kernel.
        name: The instruction set; by default the one in use.
    """
    chosen = name or isa.vector_set()
    if not available() or chosen not in FASTER[function]:
        return False
    if function in CONVOLUTIONS:
        return load(HERE / "conv", chosen, CONVOLUTIONS)
    return load(HERE, chosen, NAMES)


def in_use() -> list[str]:
    """The kernels that programs here are to use."""
    return [each for each in FASTER if serves(each) or serves(each, isa.chosen_set())]


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
