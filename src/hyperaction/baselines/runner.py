"""A baseline in a run's directory: learned and evaluated in the phases that an agent would have."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from hyperaction.baselines import BASELINES, Learner
from hyperaction.baselines.config import described
from hyperaction.baselines.episode import play
from hyperaction.envs.guard import unguarded
from hyperaction.envs.vector import Single
from hyperaction.runs.directory import Run
from hyperaction.runs.progress import Progress, read_progress, write_progress
from hyperaction.training.config import TrainConfig
from hyperaction.training.episodes import Episode, summary
from hyperaction.training.interrupts import StoppedError, stoppable

OnProgress = Callable[[Progress], None]
"""Called with how far a baseline is."""


def run(
    name: str,
    config: TrainConfig,
    on_progress: OnProgress = lambda progress: None,
    on_message: Callable[[str], None] = lambda message: None,
) -> None:
    """Runs a baseline for the steps of a run; one that was not completed starts over.

    Args:
        name: The baseline.
        config: Where, for how long and with which environment; the agent's settings do not count.
        on_progress: Called with how far it is.
        on_message: Called with what a person should know.
    """
    settings = described(name, config)
    before = read_progress(config.out)
    options: dict[str, Any] = {"fresh": config.fresh, "loggers": config.loggers}
    with Run(config.out, settings, on_message=on_message, **options) as directory:
        if before.complete and before.step >= config.steps and not config.fresh:
            on_progress(before)
            return
        if problem := directory.resume():
            on_message(problem)
        learner = BASELINES[name].make(partial(config.make_env, unguarded), config.seed)
        with stoppable() as should_stop:
            _phases(learner, config, directory, on_progress, should_stop)


def _phases(
    learner: Learner,
    config: TrainConfig,
    directory: Run,
    on_progress: OnProgress,
    should_stop: Callable[[], bool],
) -> None:
    started, next_phase, last = time.perf_counter(), config.phase_steps, None
    learning = 0.0
    """Seconds without evaluations."""
    for step in learner.learn(config.steps):
        if should_stop():
            raise StoppedError("stopped; a baseline starts over")
        learning += time.perf_counter() - started
        is_complete = step >= config.steps
        speed = step / learning if learner.learns else 0.0
        if step >= next_phase or is_complete:
            next_phase = step + config.phase_steps - step % config.phase_steps
            episodes = evaluate(learner, config, config.seed + step)
            if learner.learns:
                directory.log("train", {"step": step, "steps_per_second": speed})
            directory.log("eval", summary(step, episodes))
            last = summary(step, episodes)["return"]
            write_progress(config.out, Progress(step, speed, last, is_complete, has_agent=False))
        on_progress(Progress(step, speed, last, is_complete, has_agent=False))
        started = time.perf_counter()


def evaluate(learner: Learner, config: TrainConfig, seed: int) -> list[Episode]:
    """Whole episodes of at least the steps of an evaluation, in an environment of their own."""
    episodes: list[Episode] = []
    with closing(config.make_env(unguarded)) as made:
        env = Single(made)
        env.reset(seed)
        while sum(episode.length for episode in episodes) < config.evaluation_steps:
            episodes.append(play(env, learner))
    return episodes
