"""A run: training that is written down as it goes and can be stopped at any moment."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from hyperaction import environments
from hyperaction.agents.build import build
from hyperaction.checkpointing import restore, snapshot
from hyperaction.environments import Environments, Single
from hyperaction.learners import LEARNERS
from hyperaction.options import TrainOptions
from hyperaction.runs import Run, read_config
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.saving import Saved, about
from hyperaction.training import Callback, Episode, Evaluation, Training, train

Progress = Callable[[int, float | None], None]
"""Told the steps done and the last evaluation's return."""


class StoppedError(Exception):
    """A run that was asked to stop, and can go on later."""


class Recorder(Callback):
    """Writes a run's metrics, and a checkpoint when a phase begins."""

    def __init__(self, run: Run, checkpoints: Checkpoints, options: TrainOptions[Any]) -> None:
        self.run, self.checkpoints, self.options = run, checkpoints, options
        self.replay_saved = 0

    def on_phase(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Logs the phase."""
        self.run.log("train", metrics)
        return None

    def on_evaluation(self, training: Training, metrics: dict[str, float]) -> bool | None:
        """Logs the evaluation."""
        self.run.log("eval", metrics)
        return None

    def on_next_phase(self, training: Training) -> bool | None:
        """Saves the run, and the agent for whoever wants to play it."""
        state_file = self.save(training)
        agent_file = self.run.out / AGENT_FILE
        part = agent_file.with_name(AGENT_FILE + ".part")
        part.unlink(missing_ok=True)
        try:
            os.link(state_file, part)  # The same file by another name: nothing is copied.
        except OSError:
            shutil.copyfile(state_file, part)
        os.replace(part, agent_file)
        return None

    def save(self, training: Training) -> Path:
        """Writes a checkpoint; the file that holds its arrays."""
        state, arrays = snapshot(training)
        state["metrics_bytes"] = self.run.metrics_bytes()
        env = training.env
        saved = Saved(
            self.options.agent,
            training.settings,
            env.actions,
            env.observation_shape,
            training.step,
            {},
        )
        state["agent"] = about(saved)
        ring = training.ring
        first = max(self.replay_saved, ring.oldest)
        file = self.checkpoints.write(
            state, arrays, ring.since(first), first=first, keep_from=ring.oldest
        )
        self.replay_saved = ring.added
        return file


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
        env = self.make_env()
        self.agent = build(options.agent_settings, env.actions, env.observation_shape)
        jax.eval_shape(self.agent.start, jax.random.key(0))  # The network fits the observations.
        env.close()

    def make_env(self) -> Environments:
        """The run's environment, as it is when it is new."""
        options = self.options
        return Single(
            environments.make(
                options.env,
                bins=options.bins,
                action_shape=options.action_shape,
                real_actions=options.agent == "ddpg",
                max_episode_steps=options.max_episode_steps,
            )
        )

    def train(self, run: Run, progress: Progress, say: Callable[[str], None]) -> None:
        """Trains as the options say, from where the run was stopped if it was."""
        options = self.options
        checkpoints = Checkpoints(run.out)
        recorder = Recorder(run, checkpoints, options)
        training = Training(self.agent, self.make_env, options.seed)
        checkpoint, problems = checkpoints.latest()
        for problem in problems:
            say(f"{problem}; an earlier one is used" if checkpoint else problem)
        if checkpoint is not None:
            restore(training, checkpoint)
            recorder.replay_saved = training.ring.added
            run.go_on(checkpoint.state["metrics_bytes"], training.step)
            say(f"going on from step {training.step:,}")
        else:
            run.go_on(0, 0)
        evaluation = Evaluation(self.agent, training.programs, self.make_env)
        with _stoppable() as stopping:
            train(
                training,
                options.steps,
                [recorder, _Teller(progress)],
                evaluation=evaluation,
                phase_steps=options.phase_steps,
                evaluation_steps=options.evaluation_steps,
                stopping=stopping,
            )
            if stopping():
                recorder.save(training)
                raise StoppedError(f"stopped at step {training.step:,} and saved")


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Whether somebody asked to stop; asked twice, it stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def play(out: Path, episodes: int, seed: int, told: Callable[[Episode], None]) -> list[Episode]:
    """Episodes of a run's agent in its environment."""
    config = read_config(out)
    if not (out / AGENT_FILE).exists():
        raise ValueError(f"{out} holds no agent yet: one is kept after the first evaluation")
    learner = LEARNERS[config["agent"]].load(out)
    env = environments.make_env(config["env"], config.get("max_episode_steps", 0))
    return learner.evaluate(env, episodes, seed, told)
