"""Calls of the kernels on NumPy arrays, without JAX: for other frameworks."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperaction.kernels import isa
from hyperaction.kernels.library import HERE, mark_used

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int64
SIGNATURES = {
    "eliminate": (POINTER, NUMBER, POINTER, POINTER),
    "search": (POINTER, NUMBER, POINTER, NUMBER, POINTER, *[NUMBER] * 3, POINTER, POINTER),
}


def available() -> bool:
    """Whether the kernels can be called so: they were built, and none forbids them."""
    return _functions(isa.vector_set()) is not None


@cache
def _functions(name: str | None) -> dict[str, Any] | None:
    """The functions of a set's library, if it has them."""
    for file in sorted(HERE.glob(f"_{name}*.so")):
        try:
            library = ctypes.CDLL(str(file))
            functions = {each: getattr(library, f"hyperaction_host_{each}") for each in SIGNATURES}
        except (OSError, AttributeError):
            continue  # Built for another kind of machine, or by another version.
        for each, function in functions.items():
            function.argtypes, function.restype = SIGNATURES[each], ctypes.c_bool
        return functions
    return None


def _call(function: str, *args: Any) -> None:
    functions = _functions(isa.vector_set())
    assert functions is not None
    mark_used(function)
    numbers = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in args]
    if not functions[function](*numbers):
        raise MemoryError(f"the kernel {function} found too little memory")


def eliminate(tables: NDArray[np.float32], program: NDArray[np.int32]) -> NDArray[np.int32]:
    """The best action of every state, by a program of eliminations.

    Args:
        tables: The outputs of every state, `[batch, num_outputs]`.
        program: As `hyperaction.maximise.program.encoded` gives it.
    """
    tables = np.ascontiguousarray(tables, np.float32)
    assert tables.ndim == 2
    assert tables.shape[1] == program[0]
    actions = np.empty((len(tables), int(program[1])), np.int32)
    _call("eliminate", tables, len(tables), program, actions)
    return actions


def search(
    tables: NDArray[np.float32],
    structure: NDArray[np.int32],
    *,
    steps: int,
    sweeps: int,
    nodes: int,
    start: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """A good action of every state.

    Args:
        tables: The outputs of every state, `[batch, num_outputs]`.
        structure: The hypergraph, as `hyperaction.maximise.search.structure` encodes it.
        steps: Steps of tabu search.
        sweeps: Sweeps of messages that may prove an answer best.
        nodes: Nodes of branch and bound, which comes last; below 0, it does not.
        start: The actions that the search starts from; zeros by default.
    """
    tables = np.ascontiguousarray(tables, np.float32)
    assert tables.ndim == 2
    assert tables.shape[1] == structure[0]
    shape = (len(tables), int(structure[1]))
    start = np.zeros(shape, np.int32) if start is None else np.ascontiguousarray(start, np.int32)
    assert start.shape == shape
    actions, bounds = np.empty(shape, np.int32), np.empty(len(tables), np.float32)
    sizes = (tables.size, start, start.size)
    _call("search", tables, *sizes, structure, steps, sweeps, nodes, actions, bounds)
    return actions
