"""Builds the compiled kernel where a C++ compiler is found; the package works without it."""

from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup

NATIVE = "src/hyperaction/native"
NAMES = ("convolve", "convolve_tiles", "eliminate", "optimise", "peak", "search")
HEADERS = ("lanes", "pairwise", "sliding", "tiles", "together")


def kernel() -> list[Extension]:
    """The kernel, which needs the headers that come with jaxlib."""
    spec = find_spec("jaxlib")
    if spec is None or spec.origin is None:
        return []
    return [
        Extension(
            "hyperaction.native._kernel",
            sources=[f"{NATIVE}/{name}.cc" for name in NAMES],
            depends=[f"{NATIVE}/{name}.h" for name in HEADERS],
            include_dirs=[str(Path(spec.origin).parent / "include")],
            extra_compile_args=[
                "-std=c++17",
                "-O3",
                "-fno-math-errno",
                "-g0",
                "-Wno-psabi",
                "-Wno-attributes",
            ],
            language="c++",
            optional=True,
        )
    ]


setup(ext_modules=kernel())
