"""The instruction sets of the kernels: those that this machine has, and the one in use.

The environment variable `HYPERACTION_ISA` forces one; `none` leaves all kernels out. Set it before
anything is compiled: programs that JAX has compiled keep theirs.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

VARIABLE = "HYPERACTION_ISA"
BASELINE, AVX2, AVX512, AMX = SETS = ("baseline", "avx2", "avx512", "amx")
"""From the oldest on. The baseline is SSE2 on x86-64 and NEON on ARM."""
NONE = "none"
XLA_NAMES = {BASELINE: "SSE4_2", AVX2: "AVX2", AVX512: "AVX512", AMX: "AMX"}
"""What XLA calls the set, or the nearest to it."""
TORCH_NAMES = {
    BASELINE: ("default", "SSE41", "SSE4_2"),
    AVX2: ("avx2", "AVX2", "AVX2"),
    AVX512: ("avx512", "AVX512_CORE", "AVX512"),
    AMX: ("avx512", "DEFAULT", "AVX512"),
}
"""What PyTorch, its oneDNN and its MKL call it."""
TORCH_VARIABLES = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")


@cache
def machine_sets() -> tuple[str, ...]:
    """The sets that this machine has and that kernels were built for, from the oldest on."""
    here = Path(__file__).parent
    libraries = sorted(here.glob(f"_{BASELINE}*.so"))
    for library in libraries:
        try:
            bits = ctypes.CDLL(str(library)).hyperaction_instruction_sets()
        except (OSError, AttributeError):
            continue  # Built for another kind of machine, or by another version.
        has = [BASELINE, *(name for bit, name in enumerate(SETS[1:]) if bits >> bit & 1)]
        homes = {AMX: here / "conv"}
        return tuple(name for name in has if any(homes.get(name, here).glob(f"_{name}*.so")))
    return ()


def chosen_set() -> str | None:
    """The set in use: the forced one, else the newest of this machine; none without kernels."""
    has = machine_sets()
    forced = os.environ.get(VARIABLE)
    if forced and (why := refusal(forced)):
        raise ValueError(f"{VARIABLE}={forced} cannot be used: {why}")
    if forced == NONE or not has:
        return None
    return forced or has[-1]


def refusal(name: str) -> str:
    """Why a set cannot be forced on this machine; empty if it can."""
    has = machine_sets()
    if name == NONE or name in has:
        return ""
    there = f"this machine has {', '.join(has)}" if has else "no kernels were built here"
    return there if name in SETS else f"choose from {', '.join((*SETS, NONE))}; {there}"


def vector_set() -> str | None:
    """The set of kernels that use no AMX, which is for convolutions alone."""
    chosen = chosen_set()
    return AVX512 if chosen == AMX else chosen


def environment(name: str, current: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment variables that force a set in a new process: ours, XLA's and PyTorch's."""
    variables = {VARIABLE: name}
    if name in XLA_NAMES:
        flag = f"--xla_cpu_max_isa={XLA_NAMES[name]}"
        variables["XLA_FLAGS"] = f"{current.get('XLA_FLAGS', '')} {flag}".strip()
        variables |= zip(TORCH_VARIABLES, TORCH_NAMES[name], strict=True)
    return variables
