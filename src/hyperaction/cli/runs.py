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


def other_version(name: str, config: dict[str, Any]) -> list[str]:
    """What to know of a run whose game the published agents played in another version."""
    from hyperaction.studies import published

    if not config["env"].split(":")[-1].startswith("ALE/") or config["roms"]:
        return []
    from hyperaction.environments.cartridges import is_published_otherwise

    if published(config) is None or not is_published_otherwise(config["env"]):
        return []
    return [
        f"{name}: the published agents played another version of this game than ale-py's; train "
        f"--roms plays it"
    ]
