"""The training loop: act, step, store, update, evaluate, and call the callbacks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from hyperaction.training.callbacks import Callback
from hyperaction.training.evaluator import ENDLESS, Evaluator, check_ends, never
from hyperaction.training.listeners import Evaluation, Listeners
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
) -> str:
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

    Returns:
        Which callbacks stopped it, if any did.
    """
    listeners = Listeners(trainer, callbacks)
    max_episode_steps = ENDLESS * phase_steps
    evaluation = None
    if evaluator is not None:
        evaluation = Evaluation(trainer, evaluator, evaluation_steps, max_episode_steps)
    whole_episodes = trainer.env.num_envs == 1 and not exact
    with listeners.asking(evaluation):
        listeners.notify("on_start")
        while listeners.going and not is_complete(trainer, steps):
            started, first = time.perf_counter(), trainer.step
            phase, stopped = trainer.phase, False
            while listeners.going and not stopped and not phase.over:
                ended = trainer.advance()
                for episode in ended:
                    listeners.notify("on_episode", episode)
                # Last, as what writes checkpoints must come after all else of a step.
                listeners.notify("on_step")
                stopped = should_stop()
                full = trainer.step - phase.first >= phase_steps or trainer.step >= steps
                phase.over = (full and bool(ended)) if whole_episodes else full
                if whole_episodes and not trainer.env.has_limit:
                    check_ends(trainer.lengths[0], max_episode_steps)
            if not phase.over:
                break
            metrics = trainer.metrics()
            metrics["steps_per_second"] = (trainer.step - first) / (time.perf_counter() - started)
            evaluated = None
            if evaluation is not None and not evaluation.is_done:
                evaluated = evaluation.play(
                    trainer.env_seed(phase.number, evaluation=True), should_stop
                )
                if evaluated is None:
                    break
            listeners.notify("on_phase", metrics)
            if evaluated is not None:
                listeners.notify("on_evaluation", evaluated)
            trainer.begin_phase()
            listeners.notify("on_next_phase")
            if stopped:
                break
    return ", ".join(listeners.stopped_by)


FEW_UPDATES = 0.1
"""Fewer updates than this share of those that so many steps can make are worth a warning."""


def few_updates(trainer: Trainer, steps: int) -> str:
    """A warning where training to a step makes few updates or none; empty where it makes enough.

    The names of settings are in backticks, as in a `SettingError`.
    """
    count, config = trainer.updates_until(steps), trainer.config
    possible = (steps - trainer.step) / config.train_frequency * config.gradient_steps
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
