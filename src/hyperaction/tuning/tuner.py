"""Runs the trials of a study on the workers of a sweep, and stops those that are not worth it."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.trial import TrialState

from hyperaction.report.tables import score
from hyperaction.runs.reader import read_metrics
from hyperaction.runs.schema import UnreadableError
from hyperaction.sweeps.grid import Cell
from hyperaction.sweeps.scheduler import Job, Sweep
from hyperaction.training.config import parse_train
from hyperaction.tuning.space import SearchSpace
from hyperaction.tuning.study import distributions

LAST = 10
"""The evaluations that a score averages, at most, as in `hyperaction table`."""

ENDED = (TrialState.COMPLETE, TrialState.PRUNED)
"""What counts as a trial that was made; one that failed is replaced when the command is rerun."""

REASON = "reason"


class Tuner:
    """Asks a study for trials, hands them to a sweep, and reports their evaluations.

    Args:
        study: The study.
        space: What it searches.
        args: The arguments that all trials share.
        seed: The seed of every trial's run.
        trials: How many trials to make in all.
    """

    def __init__(
        self,
        study: optuna.Study,
        space: SearchSpace,
        args: tuple[str, ...],
        *,
        seed: int,
        trials: int,
    ) -> None:
        self.study, self.space, self.args, self.seed = study, space, args, seed
        self._distributions = distributions(space)
        self._trials: dict[str, optuna.Trial] = {}
        """Trials under way, by the names of their cells."""
        made = self._in_states(*ENDED)
        self._interrupted = self._in_states(TrialState.RUNNING)
        self._left = trials - len(made) - len(self._interrupted)

    def cell(self, number: int, params: dict[str, Any]) -> Cell:
        """The run of a trial."""
        return trial_cell(number, (*self.args, *self.space.args(params)), self.seed)

    def plan(self, sweep: Sweep) -> None:
        """Reports what trials have reached, stops those that are pruned, and adds others."""
        for job in sweep.jobs:
            if trial := self._trials.get(job.cell.name):
                self._follow(trial, job, sweep)
        while len(sweep.open_jobs()) < sweep.workers.count:
            if self._interrupted:
                self._resume(self._interrupted.pop(0), sweep)
            elif self._left > 0:
                self._left -= 1
                trial = self.study.ask(self._distributions)
                self._begin(trial, trial.params, sweep)
            else:
                break

    def _resume(self, frozen: optuna.trial.FrozenTrial, sweep: Sweep) -> None:
        """Resumes a trial that was under way when the last command ended."""
        if frozen.params.keys() != self._distributions.keys():  # It was killed while it asked.
            self.study.tell(frozen.number, state=TrialState.FAIL)
            self._left += 1
            return
        self._begin(optuna.Trial(self.study, frozen._trial_id), frozen.params, sweep)

    def _begin(self, trial: optuna.Trial, params: dict[str, Any], sweep: Sweep) -> None:
        try:
            cell = self.cell(trial.number, params)
        except ValueError as error:
            self._fail(trial, str(error))
            return
        self._trials[cell.name] = trial
        sweep.add(cell)

    def _follow(self, trial: optuna.Trial, job: Job, sweep: Sweep) -> None:
        """Reports the new evaluations of a trial, and its end."""
        is_new, rows = False, _evaluations(job)
        reported = self.study.get_trials(deepcopy=False)[trial.number].intermediate_values
        for count in range(1, len(rows) + 1):
            if count not in reported:
                try:
                    trial.report(score(rows[:count], LAST, 0).value, count)
                    is_new = True
                except ValueError:  # A return that is not finite.
                    continue
        if job.state == "done":
            self._complete(trial, job, rows)
        elif job.state == "failed":
            self._end(job)
            self._fail(trial, job.reason)
        elif is_new and trial.number and trial.should_prune():  # The baseline is never pruned.
            self._end(job)
            self.study.tell(trial, state=TrialState.PRUNED)
            sweep.stop(job)

    def _complete(self, trial: optuna.Trial, job: Job, rows: list[dict[str, Any]]) -> None:
        self._end(job)
        try:
            self.study.tell(trial, score(rows, LAST, 0).value)
        except ValueError as error:
            self._fail(trial, str(error))

    def _end(self, job: Job) -> None:
        del self._trials[job.cell.name]

    def _fail(self, trial: optuna.Trial, reason: str) -> None:
        if trial.number == 0:
            self._left = 0  # Where the preset fails, so will what differs from it.
        trial.set_user_attr(REASON, reason)
        self.study.tell(trial, state=TrialState.FAIL)

    def _in_states(self, *states: TrialState) -> list[optuna.trial.FrozenTrial]:
        return list(self.study.get_trials(deepcopy=False, states=states))


def _evaluations(job: Job) -> list[dict[str, Any]]:
    try:
        return read_metrics(job.out).of("eval")
    except UnreadableError:
        return []


def trial_cell(number: int, args: tuple[str, ...], seed: int) -> Cell:
    """The run of a trial with these arguments."""
    args = (*args, "--seed", str(seed))
    config = parse_train(args, "tune")
    return Cell(config.env, f"trial-{number:03}", seed, args, config)
