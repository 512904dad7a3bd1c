"""A study of Optuna in a directory: opened again, it resumes from what it holds."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from hyperaction.agents.search_spaces import Choice, Range
from hyperaction.errors import SettingError
from hyperaction.tuning.space import SearchSpace

FILE, NAME = "study.journal", "tune"
SETUP = "setup"

STARTUP_TRIALS = 5
"""Trials that end before others are pruned."""
WARMUP_EVALUATIONS = 2
"""Evaluations of a trial before it may be pruned."""


def open_study(
    out: Path, space: SearchSpace, args: tuple[str, ...], *, seed: int, prune: bool
) -> optuna.Study:
    """The study of a directory that this process holds; a new one begins with the baseline.

    Args:
        out: The directory.
        space: What is searched.
        args: The arguments that all trials share.
        seed: Where the search's random numbers come from.
        prune: Whether trials that are worse than most are stopped early.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = JournalStorage(JournalFileBackend(str(_repaired(out / FILE))))
    pruner: optuna.pruners.BasePruner = optuna.pruners.NopPruner()
    if prune:
        pruner = optuna.pruners.MedianPruner(STARTUP_TRIALS, WARMUP_EVALUATIONS)
    study = optuna.create_study(
        storage=storage, study_name=NAME, direction="maximize", load_if_exists=True, pruner=pruner
    )
    setup = json.loads(json.dumps({"args": args, "space": space.described()}))
    before = study.user_attrs.get(SETUP)
    if before is None:
        study.set_user_attr(SETUP, setup)
    elif before != setup:
        raise SettingError(f"{out} holds a study of other settings: {_difference(before, setup)}")
    if not study.trials:
        study.enqueue_trial(space.baseline)
    study.sampler = _sampler(seed + len(study.trials))  # Not the numbers of earlier trials again.
    return study


def _sampler(seed: int) -> optuna.samplers.BaseSampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # Trials under way count as bad ones, so that those at once differ.
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """The space as Optuna has it."""
    return {name: _distribution(each) for name, each in space.ranges.items()}


def _distribution(each: Range | Choice) -> BaseDistribution:
    if isinstance(each, Choice):
        return CategoricalDistribution(each.values)
    if isinstance(each.low, int) and isinstance(each.high, int):
        return IntDistribution(each.low, each.high, log=each.log)
    return FloatDistribution(each.low, each.high, log=each.log)


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    if before["args"] != now["args"]:
        return f"it trains {' '.join(before['args'])}, not {' '.join(now['args'])}"
    names = {**before["space"], **now["space"]}
    differ = [name for name in names if before["space"].get(name) != now["space"].get(name)]
    return f"it searches {', '.join(differ)} otherwise"


def _repaired(file: Path) -> Path:
    """The journal without a line that a kill cut short, and without the lock of a killed process.

    Only the process that holds the directory writes it.
    """
    with suppress(FileNotFoundError):
        Path(f"{file}.lock").unlink()
    if file.exists():
        with file.open("r+b") as journal:
            content = journal.read()
            journal.truncate(content.rfind(b"\n") + 1)
    return file
