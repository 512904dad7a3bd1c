"""The command that a run was, or could have been, started with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from hyperaction.errors import option
from hyperaction.runs.directory import flat_settings
from hyperaction.training.config import parse_train

NOT_OPTIONS = ("format", "env", "agent", "preset", "settings")
"""What is in the settings of a run and is no option of its own."""


def train_command(config: Mapping[str, Any]) -> str | None:
    """The arguments of `hyperaction train` for the settings of a run, without its directory.

    Only what differs from the preset is in it. There is none for a run that no arguments describe,
    such as one with a network of the user's own.
    """
    # Seeds share the rest, which takes longest.
    args = _arguments(json.dumps({**config, "seed": 0}, sort_keys=True, default=str))
    if args is None:
        return None
    return shlex.join(["hyperaction", "train", *args, "--seed", str(config["seed"])])


@lru_cache(maxsize=1000)
def _arguments(text: str) -> tuple[str, ...] | None:
    """The arguments for settings, but for the seed, if they give the same settings."""
    config = json.loads(text)
    try:
        start = [config["env"], "--agent", config["agent"], "--preset", config["preset"]]
        args = [*start, *_changes(config, parse_train(start).as_dict())]
        same = _essential(parse_train(args).as_dict()) == _essential(config)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return tuple(args) if same else None


def _changes(config: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[str]:
    own = {name: config[name] for name in config if name not in NOT_OPTIONS}
    settings, preset = flat_settings(config["settings"]), flat_settings(base["settings"])
    for name, value in own.items():
        if _plain(base.get(name, _UNSAID.get(name))) != _plain(value):
            yield from _flag(name, value)
    for name, value in settings.items():
        if name not in preset or _plain(preset[name]) != _plain(value):
            yield from _flag(name, value)


_UNSAID = {"roms": "", "constraints": [], "no_action": "stop", "action_names": []}
"""What is not stored with a run where nothing was said."""


def _flag(name: str, value: Any) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, bool):
        yield option(name) if value else option(f"no_{name}")
        return
    yield option(name)
    for each in value if isinstance(value, list) else [value]:
        yield str(each)


def _essential(config: Mapping[str, Any]) -> Any:
    """The settings without what may be left unsaid."""
    unsaid = {"format": None, **_UNSAID}
    kept = {
        name: value
        for name, value in config.items()
        if name != "format" and not (name in unsaid and _plain(value) == _plain(unsaid[name]))
    }
    return _plain(kept)


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    return json.loads(json.dumps(value, default=str))
