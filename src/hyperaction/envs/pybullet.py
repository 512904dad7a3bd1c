"""The PyBullet domains, without the lines that the simulator prints."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gymnasium

from hyperaction.errors import needs

PACKAGE = "pybullet_envs_gymnasium"
LAST_PYTHON = (3, 11)
"""The last version of Python that PyBullet has wheels for."""


def register(name: str) -> None:
    """Makes the domains known to Gymnasium."""
    if find_spec(PACKAGE) is None:
        raise ValueError(needs(name, "PyBullet", "physical", LAST_PYTHON))
    with quiet():
        import_module(PACKAGE)
        import_module("pybullet")


class QuietStart(gymnasium.Wrapper[Any, Any, Any, Any]):
    """PyBullet starts at the first reset, and prints then."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """As the environment does."""
        if self._started:
            return self.env.reset(seed=seed, options=options)
        self._started = True
        with quiet():
            return self.env.reset(seed=seed, options=options)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing reaches the terminal, not even from C."""
    sys.stdout.flush()
    sys.stderr.flush()
    nowhere, saved = os.open(os.devnull, os.O_WRONLY), {1: os.dup(1), 2: os.dup(2)}
    try:
        for output in saved:
            os.dup2(nowhere, output)
        yield
    finally:
        # C buffers what it prints where the output is not a terminal.
        ctypes.pythonapi.fflush(None)
        for output, copy in saved.items():
            os.dup2(copy, output)
            os.close(copy)
        os.close(nowhere)
