"""Runs in directories, as far as they can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def readable_configs(outs: Sequence[Any]) -> tuple[dict[Any, dict[str, Any]], list[str]]:
    """The settings of runs, and what is wrong with those whose settings cannot be read."""
    from hyperaction.options import run_config

    configs, problems = {}, []
    for out in outs:
        try:
            configs[out] = run_config(out)
        except ValueError as error:
            problems.append(str(error))
    return configs, problems
