"""A run: training that is written down as it goes and can be stopped at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from hyperaction.agents.build import build
from hyperaction.checkpointing import restore
from hyperaction.environments import Environments, Factored, Single
from hyperaction.environments.faults import EnvironmentFaultError, Guard, unguarded
from hyperaction.options import TrainOptions
from hyperaction.running.recorder import Listener, Recorder, Teller
from hyperaction.runs import Run
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.stopping import StoppedError, stoppable
from hyperaction.training import (
    DivergedError,
    Evaluation,
    Training,
    is_complete,
    train,
)
from hyperaction.training.memory import check_fits


class FailedError(RuntimeError):
    """A run that cannot go on by itself."""


class Prepared:
    """A run that can begin: its mistakes are told before anything is written.

    Args:
        options: What to train, where, and for how long.
        env: The environment, to look at.
        guard: What surrounds the calls of the environment, such as a watchdog.
    """

    def __init__(self, options: TrainOptions[Any], env: Factored, guard: Guard = unguarded) -> None:
        self.options, self.guard = options, guard
        self.agent = build(options.agent_settings, env.actions, env.observation_shape)
        jax.eval_shape(self.agent.start, jax.random.key(0))  # The network fits the observations.
        self.memory = check_fits(self.agent.settings, env, self.agent.action_length)
        """What is to be known of the run's memory."""

    def make_envs(self) -> Environments:
        """The run's environments, as they are when they are new."""
        return self.options.make_envs(self.guard)

    def make_env(self) -> Environments:
        """An environment to be judged in."""
        return Single(self.options.make_env(self.guard))

    def train(
        self,
        run: Run,
        listener: Listener,
        say: Callable[[str], None],
        saved: Callable[[], None] = lambda: None,
    ) -> None:
        """Trains as the options say, from where the run was stopped if it was.

        Args:
            run: The run's directory.
            listener: Told how far the run is.
            say: Told what a person should know.
            saved: Called when a checkpoint was written.
        """
        checkpoints = Checkpoints(run.out)
        checkpoint, problems = checkpoints.latest()
        for problem in problems:
            say(f"{problem}; an earlier one is used" if checkpoint else problem)
        if checkpoint is None and run.had_checkpoint():
            raise ValueError(
                f"{run.out} holds results but no checkpoint that can be used (--fresh starts over)"
            )
        recorder = Recorder(run, checkpoints, self.options, saved)
        training: Training | None = None
        try:
            training = Training(self.agent, self.make_envs, self.options.seed)
            if checkpoint is None:
                run.go_on(0, 0)
            else:
                if not restore(training, checkpoint):
                    say(
                        "the environment does not repeat itself: a new episode begins, and what "
                        "follows is not what would have been"
                    )
                recorder.go_on(training)
                run.go_on(checkpoint.state["metrics_bytes"], training.step)
                say(f"going on from step {training.step:,}")
            self._train(training, recorder, listener)
        except DivergedError as error:
            raise FailedError(f"{error}; {recorder.told()}") from error
        except EnvironmentFaultError as error:
            after = "at its start" if training is None else f"after step {training.step:,}"
            raise FailedError(f"{error}, {after}; {recorder.told()}") from error

    def _train(self, training: Training, recorder: Recorder, listener: Listener) -> None:
        options = self.options
        judge = Evaluation(self.agent, training.programs, self.make_env)
        teller = Teller(recorder.run.out, options.steps, listener)
        with stoppable() as stopping:
            train(
                training,
                options.steps,
                [recorder, teller],
                evaluation=judge if options.evaluation_steps else None,
                phase_steps=options.phase_steps,
                evaluation_steps=options.evaluation_steps,
                stopping=stopping,
            )
            if stopping() and not is_complete(training, options.steps):
                recorder.save(training)
                teller.on_next_phase(training)
                recorder.saved()
                raise StoppedError(f"stopped at step {training.step:,} and saved")
