"""What a study found: its trials from the best to the worst, and the command of the best."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.trial import TrialState

from hyperaction.report.tables import comma_separated
from hyperaction.runs.files import write_text
from hyperaction.tuning.space import SearchSpace, value_text
from hyperaction.tuning.tuner import REASON

FILE = "trials.csv"

WORDS = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "under way",
    TrialState.WAITING: "waiting",
}


class Trial(NamedTuple):
    """A trial of a study."""

    number: int
    state: str
    score: float | None
    """Of a pruned trial, what it had reached."""
    evaluations: int
    params: dict[str, Any]
    reason: str = ""


def trials(study: optuna.Study) -> list[Trial]:
    """All trials: those that were completed from the best to the worst, then the others."""
    found = []
    for each in study.get_trials(deepcopy=False):
        values = each.intermediate_values
        reached = values[max(values)] if values else None
        done = each.state is TrialState.COMPLETE
        score = each.value if done else reached
        reason = str(each.user_attrs.get(REASON, ""))
        state = WORDS[each.state]
        found.append(Trial(each.number, state, score, len(values), each.params, reason))
    return sorted(found, key=_order)


def _order(trial: Trial) -> tuple[bool, bool, float, int]:
    score = trial.score
    return trial.state != "done", score is None, -(score or 0.0), trial.number


def write_csv(out: Path, study: optuna.Study, space: SearchSpace) -> Path:
    """Writes all trials as comma-separated values; returns the file."""
    header = ["trial", "state", "score", "evaluations", *space.ranges]
    rows = [
        [
            str(each.number),
            each.state,
            "" if each.score is None else f"{each.score:.6g}",
            str(each.evaluations),
            *(
                value_text(each.params[name]) if name in each.params else ""
                for name in space.ranges
            ),
        ]
        for each in trials(study)
    ]
    return write_text(out / FILE, comma_separated(header, rows))


def command(args: Sequence[str], out: str) -> str:
    """The command line that trains with these arguments."""
    return shlex.join(["hyperaction", "train", *args, "--out", out])


def changes(trial: Trial, space: SearchSpace) -> str:
    """What a trial has otherwise than the baseline, as options."""
    return shlex.join(space.args(trial.params)) or "the preset unchanged"
