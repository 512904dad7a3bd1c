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


def read_curve(out: Any, config: dict[str, Any]) -> list[dict[str, Any]]:
    """A run's results: its evaluations, or what its training returned.

    In Atari games it is always training's, as in all that was published of them.
    """
    from hyperaction.runs import read_metrics
    from hyperaction.studies.atari import game_of

    evaluations = [] if game_of(config["env"]) else read_metrics(out, "eval")
    return evaluations or [row for row in read_metrics(out, "train") if "return" in row]


def other_versions(configs: dict[str, dict[str, Any]]) -> list[str]:
    """What to know of runs, by name, whose games the published agents played in other versions."""
    from hyperaction.studies import published
    from hyperaction.studies.atari import game_of

    played = {name: each for name, each in configs.items() if game_of(each["env"])}
    if not played:
        return []
    from hyperaction.environments.cartridges import is_published_otherwise

    names = [
        name
        for name, config in played.items()
        if not config["roms"] and published(config) and is_published_otherwise(config["env"])
    ]
    if not names:
        return []
    some = names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return [
        f"{', '.join(some)}: the published agents played another version of this game than "
        f"ale-py's; train --roms plays it"
    ]
