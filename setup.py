"""Builds the kernels where a C++ compiler is found; the package works without them."""

from copy import copy
from importlib.util import find_spec
from pathlib import Path
from platform import machine

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

KERNELS = Path("src/hyperaction/kernels")
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma"]
SETS = {"baseline": []}
if machine() in ("x86_64", "AMD64"):
    SETS |= {
        "avx2": ["-mavx2", "-mfma"],
        "avx512": [*AVX512, "-mprefer-vector-width=512"],
        "amx": [*AVX512, "-mavx512bf16", "-mamx-tile", "-mamx-bf16"],
    }
"""The flags of each instruction set that kernels are compiled for (see kernels/isa.py)."""


def extension(isa: str, *, conv: bool) -> Extension:
    """The kernels, or those of convolutions, for one instruction set."""
    home = KERNELS / "conv" if conv else KERNELS
    sources = sorted(home.glob("*.cc"))
    spec = find_spec("jaxlib")
    return Extension(
        ".".join([*home.parts[1:], f"_{isa}"]),
        sources=list(map(str, sources)),
        depends=[str(path) for path in KERNELS.rglob("*.h")],
        # Headers of the foreign-function interface come with jaxlib.
        include_dirs=[str(Path(spec.origin).parent / "include")],
        extra_compile_args=[
            "-std=c++17",
            "-O3",
            "-fno-math-errno",
            "-fno-trapping-math",
            # Convolutions may round once where others round twice: the same bits on any machine.
            f"-ffp-contract={'fast' if conv else 'off'}",
            "-fvisibility-inlines-hidden",
            "-g0",
            "-Wno-psabi",
            *SETS[isa],
        ],
        language="c++",
        optional=True,
    )


class Build(build_ext):
    """Compiles the same sources with several flags, each in a directory of its own."""

    def build_extension(self, ext: Extension) -> None:
        """Compile and link one extension."""
        own = copy(self)
        own.build_temp = str(Path(self.build_temp) / ext.name)
        build_ext.build_extension(own, ext)


class Wheel(bdist_wheel):
    """A wheel for one platform and any Python: JAX calls the kernels, not Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tags of the wheel's name."""
        return ("py3", "none", super().get_tag()[2])


extensions = [
    extension(isa, conv=conv)
    for conv in (False, True)
    for isa in SETS
    if find_spec("jaxlib") and (conv or isa != "amx")  # Only convolutions use AMX.
]
setup(
    ext_modules=extensions,
    cmdclass={"bdist_wheel": Wheel, "build_ext": Build},
    options={"build_ext": {"parallel": True}},
)
