"""A run: training that is written down as it goes, and playing what it trained."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hyperaction import environments
from hyperaction.agents.build import build
from hyperaction.environments import Single
from hyperaction.learners import LEARNERS, Learner
from hyperaction.options import TrainOptions
from hyperaction.runs import Run, read_config
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.saving import Saved, arrays_of, load, save
from hyperaction.training import Callback, Episode, Evaluation, Training, train

Progress = Callable[[int, float | None], None]
"""Told the steps done and the last evaluation's return."""


class Recorder(Callback):
    """Writes a run's metrics, and its agent after every evaluation."""

    def __init__(self, run: Run, options: TrainOptions[Any]) -> None:
        self.run, self.options = run, options

    def on_phase(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Logs the phase."""
        self.run.log("train", metrics)
        return None

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Logs the evaluation, and keeps the agent that it judged."""
        self.run.log("eval", metrics)
        saved = Saved(
            self.options.agent,
            training.settings,
            training.env.actions,
            training.env.observation_shape,
            training.step,
            arrays_of(training.state.tree),
        )
        save(self.run.out / AGENT_FILE, saved)
        return None


class _Teller(Callback):
    """Tells the progress now and then."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.last: float | None = None

    def on_step(self, training: Training) -> bool | None:
        if training.step % 200 < training.env.count:
            self.progress(training.step, self.last)
        return None

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        self.last = metrics["return"]
        self.progress(training.step, self.last)
        return None


class Prepared:
    """A run that can begin: its mistakes are told before anything is written."""

    def __init__(self, options: TrainOptions[Any]) -> None:
        self.options = options
        make = partial(
            environments.make,
            options.env,
            bins=options.bins,
            action_shape=options.action_shape,
            real_actions=options.agent == "ddpg",
        )
        self.env, self.evaluation_env = Single(make()), Single(make())
        settings, actions = options.agent_settings, self.env.actions
        length = len(actions.sizes or actions.low)  # type: ignore[attr-defined]
        self.agent = build(settings, actions.sizes, length, self.env.observation_shape)

    def train(self, run: Run, progress: Progress) -> None:
        """Trains as the options say."""
        options = self.options
        training = Training(self.agent, self.env, options.seed)
        evaluation = Evaluation(
            self.agent, training.programs, self.evaluation_env, training.evaluation_seed
        )
        train(
            training,
            options.steps,
            [Recorder(run, options), _Teller(progress)],
            evaluation=evaluation,
            phase_steps=options.phase_steps,
            evaluation_steps=options.evaluation_steps,
        )


def trained(out: Path) -> Learner:
    """The agent of a run."""
    saved = load(out)
    return LEARNERS[saved.name].load(out)


def play(out: Path, episodes: int, seed: int, told: Callable[[Episode], None]) -> list[Episode]:
    """Episodes of a run's agent in its environment."""
    config = read_config(out)
    if not (out / AGENT_FILE).exists():
        raise ValueError(f"{out} holds no agent yet: one is kept after the first evaluation")
    learner = trained(out)
    env = environments.make_env(config["env"])
    return learner.evaluate(env, episodes, seed, told)
