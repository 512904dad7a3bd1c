"""What is written with a baseline's run, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hyperaction.baselines import BASELINES
from hyperaction.errors import SettingError, unknown
from hyperaction.runs.reader import read_config
from hyperaction.training.config import TrainConfig, run_config


def described(name: str, config: TrainConfig) -> dict[str, Any]:
    """The settings that are written with a baseline's run: those of its environment and phases."""
    if name not in BASELINES:
        raise SettingError(f"`baseline`: {unknown('baseline', name, BASELINES)}")
    if not config.evaluation_steps:
        raise SettingError("`evaluation_steps` must be at least 1: baselines are evaluated")
    if config.config.continuous:
        raise SettingError(f"`agent` {config.agent} takes real numbers, and baselines sub-actions")
    own = {key: value for key, value in config.as_dict().items() if key != "preset"}
    return {**own, "agent": name, "settings": {}}


def config_of(out: Path) -> dict[str, Any]:
    """The settings of a run, of an agent or a baseline."""
    config = read_config(out)
    if config["agent"] not in BASELINES:
        return run_config(out)
    return {"max_episode_steps": 0, "roms": "", "constraints": [], "no_action": "stop", **config}
