"""One session of a run: from where the last one stopped to the end, an interrupt or a failure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hyperaction.envs.guard import EnvironmentFaultError, Guard
from hyperaction.envs.statistics import freeze, merged
from hyperaction.envs.vector import Environments, Single
from hyperaction.errors import for_command_line
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.directory import Run
from hyperaction.training.assembly import maximisation
from hyperaction.training.checkpoint import TrainerCheckpoints
from hyperaction.training.compiled import Agent, DivergedError
from hyperaction.training.config import TrainConfig
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.interrupts import StoppedError, stoppable
from hyperaction.training.loop import few_updates, is_complete, train
from hyperaction.training.recorder import OnProgress, ProgressReporter, Recorder
from hyperaction.training.speed import SpeedEstimate
from hyperaction.training.trainer import Trainer


class FailedError(RuntimeError):
    """A run that cannot continue by itself."""


class Session:
    """Trains a run until it is complete, stopped or failed.

    Args:
        config: What to train, and for how long.
        agent: The agent.
        guard: What surrounds the calls of the environment, such as a watchdog.
        on_progress: Called with how far the run is.
        on_message: Called with what a person should know.
    """

    def __init__(
        self,
        config: TrainConfig,
        agent: Agent,
        guard: Guard,
        on_progress: OnProgress,
        on_message: Callable[[str], None],
    ) -> None:
        self.config, self.agent, self.guard = config, agent, guard
        self.on_progress, self.on_message = on_progress, on_message

    def make_envs(self) -> Environments:
        """New environments to train in."""
        return self.config.make_envs(self.guard)

    def make_evaluation_env(self, trainer: Trainer) -> Environments:
        """A new environment to evaluate in; its wrappers know what those of training do."""
        env = self.config.make_env(self.guard)
        freeze(env.env, merged(trainer.env.statistics()))
        return Single(env)

    def train(self, run: Run, on_saved: Callable[[], None]) -> None:
        """Trains in a run's directory; `on_saved` is called after every checkpoint."""
        store = Checkpoints(run.out, run.identity)
        checkpoint, problems = store.latest()
        for problem in problems:
            self.on_message(f"{problem}; an earlier one is used" if checkpoint else problem)
        if checkpoint is None and run.had_checkpoint():
            raise ValueError(
                f"{run.out} holds results but no checkpoint that can be used (--fresh starts over)"
            )
        checkpoints = TrainerCheckpoints(store)
        recorder = Recorder(run, checkpoints, self.config, on_saved, self.on_message)
        trainer: Trainer | None = None
        try:
            trainer = Trainer(self.agent, self.make_envs, self.config.seed)
            if checkpoint is None:
                problem = run.resume()
            else:
                is_back = checkpoints.restore(trainer, checkpoint)
                if not is_back:
                    self.on_message(
                        "the environment is not deterministic: a new episode begins, and results "
                        "will differ from those of a run that was never stopped"
                    )
                if checkpoint.damage:
                    self.on_message(
                        f"a part of replay is lost ({checkpoint.damage}): it resumes with the "
                        f"{len(trainer.replay):,} transitions after that part, and metrics will "
                        f"differ from those of an undamaged run"
                    )
                recorder.resume(checkpoint.file, trainer.step)
                is_exact = is_back and not checkpoint.damage
                mark = checkpoint.state["metrics"]
                problem = run.resume(mark, trainer.step, is_exact=is_exact)
                self.on_message(f"resuming from step {trainer.step:,}")
            if problem:
                self.on_message(problem)
            self._train(trainer, recorder)
        except DivergedError as error:
            when = "" if trainer is None else f" (at step {trainer.step:,})"
            raise FailedError(f"{error}{when}; {recorder.where_to_resume()}") from error
        except EnvironmentFaultError as error:
            when = "at its start" if trainer is None else f"after step {trainer.step:,}"
            raise FailedError(f"{error}, {when}; {recorder.where_to_resume()}") from error

    def _train(self, trainer: Trainer, recorder: Recorder) -> None:
        config = self.config
        mask = trainer.env.mask
        constraints = trainer.env.constraints if mask is None else mask.constraints
        if found := maximisation(trainer.state.tree, constraints):
            self.on_message(f"best actions: {found}")
        make_env = partial(self.make_evaluation_env, trainer)
        evaluator = Evaluator(trainer.agent, trainer.compiled, make_env)
        reporter = ProgressReporter(recorder.run, config.steps, self.on_progress)
        if warning := few_updates(trainer, config.steps):
            self.on_message(f"warning: {for_command_line(warning)}")
        with stoppable() as should_stop:
            train(
                trainer,
                config.steps,
                [recorder, reporter, SpeedEstimate(config.steps, self.on_message)],
                evaluator=evaluator if config.evaluation_steps else None,
                phase_steps=config.phase_steps,
                evaluation_steps=config.evaluation_steps,
                should_stop=should_stop,
            )
            if should_stop() and not is_complete(trainer, config.steps):
                recorder.save(trainer)
                reporter.report(trainer)
                raise StoppedError(f"stopped at step {trainer.step:,} and saved")
