"""The training loop: act, step, store, update, evaluate, and call the callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from hyperaction.training.callbacks import Callback
from hyperaction.training.episodes import Episode, summary
from hyperaction.training.evaluator import ENDLESS, Evaluator, check_ends, never
from hyperaction.training.trainer import Trainer


def train(
    trainer: Trainer,
    steps: int,
    callbacks: Iterable[Callback] = (),
    *,
    evaluator: Evaluator | None = None,
    phase_steps: int = 10_000,
    evaluation_steps: int = 5_000,
    exact: bool = False,
    should_stop: Callable[[], bool] = never,
) -> None:
    """Trains until so many steps are done, in phases that end in evaluations.

    With one environment, phases are whole episodes, as in Dopamine: a phase ends with the first
    episode that ends after its last step. The last phase ends as soon as all steps are done.

    Args:
        trainer: What is trained.
        steps: The step to train to.
        callbacks: Called as training goes.
        evaluator: What evaluates after every phase, if anything.
        phase_steps: Steps of a phase.
        evaluation_steps: Steps of an evaluation, at least.
        exact: End phases at their last step, in the middle of an episode if need be.
        should_stop: Asked after every step.
    """
    listeners = list(callbacks)

    def notify(event: str, *args: Any) -> bool:
        """Whether all listeners want training to continue; every one is called."""
        answers = [getattr(each, event)(trainer, *args) for each in listeners]
        return all(answer is None or answer for answer in answers)

    whole_episodes = trainer.env.num_envs == 1 and not exact
    going = notify("on_start")
    while going and not is_complete(trainer, steps):
        started, first = time.perf_counter(), trainer.step
        phase = trainer.phase
        while going and not phase.over:
            ended = trainer.advance()
            answers = [notify("on_step"), *(notify("on_episode", one) for one in ended)]
            going = all(answers) and not should_stop()
            full = trainer.step - phase.first >= phase_steps or trainer.step >= steps
            phase.over = (full and bool(ended)) if whole_episodes else full
            if whole_episodes and not trainer.env.has_limit:
                check_ends(trainer.lengths[0], ENDLESS * phase_steps)
        if not phase.over:
            return
        metrics = trainer.metrics()
        metrics["steps_per_second"] = (trainer.step - first) / (time.perf_counter() - started)
        evaluated: list[Episode] | None = None
        if evaluator is not None:
            evaluator.use(trainer.agent, trainer.compiled)
            evaluator.begin(trainer.env_seed(phase.number, evaluation=True))
            evaluated = evaluator.run(
                trainer.state, evaluation_steps, should_stop, ENDLESS * phase_steps
            )
            if evaluated is None:
                return
        going = notify("on_phase", metrics) and going
        if evaluated is not None:
            going = notify("on_evaluation", summary(trainer.step, evaluated)) and going
        trainer.begin_phase()
        going = notify("on_next_phase") and going


FEW_UPDATES = 0.1
"""Fewer updates than this share of those that so many steps can make are worth a warning."""


def few_updates(trainer: Trainer, steps: int) -> str:
    """A warning where training to a step makes few updates or none; empty where it makes enough.

    The names of settings are in backticks, as in a `SettingError`.
    """
    count, config = trainer.updates_until(steps), trainer.config
    possible = (steps - trainer.step) / config.train_frequency
    if count >= FEW_UPDATES * possible:
        return ""
    starts = trainer.replay_empty_at + config.learning_starts
    return (
        f"training to step {steps:,} makes {f'only {count:,}' if count else 'no'} updates, as "
        f"learning starts after step {starts:,}: train for longer, or lower `learning_starts`"
    )


def is_complete(trainer: Trainer, steps: int) -> bool:
    """Whether so many steps are done, and the phase of the last of them is over and evaluated."""
    return trainer.step >= steps and trainer.step == trainer.phase.first
