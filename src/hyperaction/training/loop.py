"""The only loop: act, step, store, update, evaluate, and tell whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hyperaction.training.evaluation import ENDLESS, Evaluation, check_ends
from hyperaction.training.learning import Episode, Training


class Callback:
    """Told what happens in training; override what you need. Returning False stops it."""

    def on_start(self, training: Training) -> bool | None:
        """Training begins."""

    def on_step(self, training: Training) -> bool | None:
        """A step in every environment, with its learning, is done."""

    def on_episode(self, training: Training, episode: Episode) -> bool | None:
        """An episode ended."""

    def on_phase(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """A phase of training ended."""

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """An evaluation ended."""

    def on_next_phase(self, training: Training) -> bool | None:
        """The next phase begins: from here, a run can go on later."""


def train(
    training: Training,
    steps: int,
    callbacks: Iterable[Callback] = (),
    *,
    evaluation: Evaluation | None = None,
    phase_steps: int = 10_000,
    evaluation_steps: int = 5_000,
    exact: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Trains until so many steps are done, in phases that end in evaluations.

    Training ends with a phase, and with one environment phases are whole episodes, as in Dopamine;
    unless it is to be `exact`, and stop at the step that is asked for. `stopping` is asked after
    every step.
    """
    listeners = list(callbacks)

    def tell(what: str, *news: Any) -> bool:
        """Whether everybody wants to go on; all are told, also after one wants to stop."""
        answers = [getattr(each, what)(training, *news) for each in listeners]
        return all(answer is None or answer for answer in answers)

    whole_episodes = training.env.count == 1 and not exact
    going = tell("on_start")
    while going and not is_complete(training, steps):
        started, first = time.perf_counter(), training.step
        phase = training.phase
        while going and not phase.over:
            ended = training.advance()
            answers = [tell("on_step"), *(tell("on_episode", one) for one in ended)]
            going = all(answers) and not stopping()
            full = training.step - phase.first >= phase_steps
            phase.over = (full and bool(ended)) if whole_episodes else full
            if whole_episodes and not training.env.has_limit:
                check_ends(training.lengths[0], ENDLESS * phase_steps)
            if exact and training.step >= steps:
                break
        if not phase.over:
            return
        metrics = _metrics(training)
        metrics["steps_per_second"] = (training.step - first) / (time.perf_counter() - started)
        judged: list[Episode] | None = None
        if evaluation is not None:
            evaluation.begin(training.env_seed(phase.number, evaluation=True))
            judged = evaluation.steps(
                training.state, evaluation_steps, stopping, ENDLESS * phase_steps
            )
            if judged is None:
                return
        going = tell("on_phase", metrics) and going
        if judged is not None:
            going = tell("on_evaluation", _summary(training.step, judged)) and going
        training.begin_phase()
        going = tell("on_next_phase") and going


def is_complete(training: Training, steps: int) -> bool:
    """Whether so many steps are done, and the phase of the last of them is over and judged."""
    return training.step >= steps and training.step == training.phase.first


def _metrics(training: Training) -> dict[str, float]:
    phase = training.phase
    metrics = _summary(training.step, phase.episodes)
    metrics |= training.explorer.metrics(training.step)
    if phase.losses:
        metrics["loss"] = float(np.mean(phase.losses))
    return metrics


def _summary(step: int, episodes: list[Episode]) -> dict[str, float]:
    metrics: dict[str, float] = {"step": step, "episodes": len(episodes)}
    if episodes:
        totals = [episode.total for episode in episodes]
        metrics["return"] = float(np.mean(totals))
        metrics["lowest"], metrics["highest"] = min(totals), max(totals)
        metrics["length"] = float(np.mean([episode.length for episode in episodes]))
    return metrics
