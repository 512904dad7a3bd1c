"""One session of a run: from where the last one stopped to the end, an interrupt or a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.errors import for_command_line
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.runs.directory import Run
from hyperaction.runs.manifests import Checkpoint
from hyperaction.runs.reader import read_metrics
from hyperaction.training.assembly import maximisation
from hyperaction.training.callbacks import Callback
from hyperaction.training.checkpoint import TrainerCheckpoints
from hyperaction.training.compiled import DivergedError
from hyperaction.training.config import TrainConfig
from hyperaction.training.evaluation_callbacks import KeepBest, StopAtReturn, StopOnPlateau
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.interrupts import StoppedError, stoppable
from hyperaction.training.loop import few_updates, is_complete, train
from hyperaction.training.recorder import OnProgress, ProgressReporter, Recorder
from hyperaction.training.speed import SpeedEstimate
from hyperaction.training.trainer import Trainer

OnMessage = Callable[[str], None]
"""Called with what a person should know."""


class FailedError(RuntimeError):
    """A run that cannot continue by itself."""


class Parts(Protocol):
    """What a run is made of, whoever starts it."""

    def trainer(self, resumed_step: int | None) -> Trainer:
        """The trainer at its start, whose environments are resumable.

        Args:
            resumed_step: The step of the checkpoint that it will be put back to, if there is one.
        """
        ...

    def evaluator(self, trainer: Trainer) -> Evaluator | None:
        """What evaluates, if anything does."""
        ...

    def resumed(self, trainer: Trainer) -> None:
        """The trainer is as its last checkpoint has it, or at its start."""
        ...


class Session:
    """Trains a run until it is complete, stopped or failed.

    Args:
        config: What to train, and for how long.
        parts: What makes the trainer and its evaluator.
        callbacks: Called as training goes, before what records it.
        on_progress: Called with how far the run is.
        on_message: Called with what a person should know.
        on_warning: Called with what a person must know; by default as messages are.
        held: Gives a context for the training of a trainer.
        is_busy: Whether a second interrupt would break a trainer now, and must wait.
    """

    def __init__(
        self,
        config: TrainConfig,
        parts: Parts,
        callbacks: Sequence[Callback] = (),
        *,
        on_progress: OnProgress = lambda progress: None,
        on_message: OnMessage = lambda message: None,
        on_warning: OnMessage | None = None,
        held: Callable[[Trainer], AbstractContextManager[Any]] = lambda trainer: nullcontext(),
        is_busy: Callable[[Trainer], bool] = lambda trainer: False,
    ) -> None:
        self.config, self.parts, self.callbacks = config, parts, callbacks
        self.on_progress, self.on_message = on_progress, on_message
        self.on_warning, self.held = on_warning or on_message, held
        self.is_busy = is_busy

    def train(self, run: Run, on_saved: Callable[[], None]) -> None:
        """Trains in a run's directory; `on_saved` is called after every checkpoint."""
        store = Checkpoints(run.out, run.identity)
        checkpoint, problems = store.latest()
        for problem in problems:
            self.on_warning(f"{problem}; an earlier one is used" if checkpoint else problem)
        if checkpoint is None and run.had_checkpoint():
            raise ValueError(
                f"{run.out} holds results but no checkpoint that can be used (--fresh starts over)"
            )
        checkpoints = TrainerCheckpoints(store)
        recorder = Recorder(run, checkpoints, self.config, on_saved, self.on_message)
        trainer: Trainer | None = None
        try:
            trainer = self.parts.trainer(None if checkpoint is None else _step_of(checkpoint))
            trainer.services.evaluations = []
            problem = (
                run.resume()
                if checkpoint is None
                else self._resume(run, trainer, checkpoint, recorder)
            )
            if problem:
                self.on_warning(problem)
            self.parts.resumed(trainer)
            trainer.services.out = run.out
            trainer.services.save_agent = partial(recorder.save_agent, trainer)
            with self.held(trainer):
                self._train(trainer, recorder)
        except DivergedError as error:
            when = "" if trainer is None else f" (at step {trainer.step:,})"
            raise FailedError(f"{error}{when}; {recorder.where_to_resume()}") from error
        except EnvironmentFaultError as error:
            when = "at its start" if trainer is None else f"after step {trainer.step:,}"
            raise FailedError(f"{error}, {when}; {recorder.where_to_resume()}") from error

    def _resume(
        self, run: Run, trainer: Trainer, checkpoint: Checkpoint, recorder: Recorder
    ) -> str:
        """Puts a trainer back to a checkpoint; what is wrong with the metrics, if anything."""
        is_back = recorder.checkpoints.restore(trainer, checkpoint)
        if not is_back:
            self.on_warning(
                "the environment is not deterministic: a new episode begins, and results "
                "will differ from those of a run that was never stopped"
            )
        if checkpoint.damage:
            self.on_warning(
                f"a part of replay is lost ({checkpoint.damage}): it resumes with the "
                f"{len(trainer.replay):,} transitions after that part, and metrics will "
                f"differ from those of an undamaged run"
            )
        recorder.resume(checkpoint.file, trainer.step)
        is_exact = is_back and not checkpoint.damage
        problem = run.resume(checkpoint.state["metrics"], trainer.step, is_exact=is_exact)
        trainer.services.evaluations = read_metrics(run.out).of("eval")
        self.on_message(f"resuming from step {trainer.step:,}")
        return problem

    def _callbacks(self) -> list[Callback]:
        """The given callbacks, and those that options ask for."""
        config, chosen = self.config, list(self.callbacks)
        if config.keep_best:
            chosen.append(KeepBest())
        if config.stop_at is not None:
            chosen.append(StopAtReturn(config.stop_at))
        if config.patience:
            chosen.append(StopOnPlateau(config.patience))
        return chosen

    def _train(self, trainer: Trainer, recorder: Recorder) -> None:
        config = self.config
        mask = trainer.env.mask
        constraints = trainer.env.constraints if mask is None else mask.constraints
        if found := maximisation(trainer.state.tree, constraints):
            self.on_message(f"best actions: {found}")
        reporter = ProgressReporter(recorder.run, config.steps, self.on_progress)
        if warning := few_updates(trainer, config.steps):
            self.on_warning(f"warning: {for_command_line(warning)}")
        with stoppable(is_busy=lambda: self.is_busy(trainer)) as should_stop:
            stopped_by = train(
                trainer,
                config.steps,
                # What writes checkpoints comes after all that a checkpoint should hold.
                [
                    *self._callbacks(),
                    recorder,
                    reporter,
                    SpeedEstimate(config.steps, self.on_message),
                ],
                evaluator=self.parts.evaluator(trainer),
                phase_steps=config.phase_steps,
                evaluation_steps=config.evaluation_steps,
                should_stop=should_stop,
            )
            if should_stop() and not is_complete(trainer, config.steps):
                recorder.save(trainer)
                reporter.report(trainer)
                raise StoppedError(f"stopped at step {trainer.step:,} and saved")
        if stopped_by:
            if trainer.step != recorder.last_step:
                recorder.save(trainer)
            reporter.report(trainer, is_over=True)
            self.on_message(f"stopped at step {trainer.step:,} by {stopped_by}")


def _step_of(checkpoint: Checkpoint) -> int:
    """The step that a checkpoint says it is of; it is not verified yet."""
    state = checkpoint.state.get("trainer")
    step = state.get("step") if isinstance(state, dict) else None
    return step if isinstance(step, int) else 0
