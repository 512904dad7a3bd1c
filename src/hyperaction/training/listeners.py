"""Those who are called as training goes, and the evaluations that they may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from hyperaction.training.callbacks import Callback, name_of
from hyperaction.training.episodes import summary
from hyperaction.training.evaluator import Evaluator, never
from hyperaction.training.trainer import Trainer


class Evaluation:
    """Evaluates a trainer's agent, at most once at every step.

    Args:
        trainer: Whose agent it is.
        evaluator: What plays.
        min_steps: Steps of an evaluation, at least.
        max_episode_steps: An episode that is as long is taken to have no end.
    """

    def __init__(
        self, trainer: Trainer, evaluator: Evaluator, min_steps: int, max_episode_steps: int
    ) -> None:
        self.trainer, self.evaluator, self.min_steps = trainer, evaluator, min_steps
        self.max_episode_steps = max_episode_steps

    @property
    def is_done(self) -> bool:
        """Whether there is an evaluation of this step already."""
        done = self.trainer.evaluations
        return bool(done) and done[-1]["step"] == self.trainer.step

    def play(self, seed: int, should_stop: Callable[[], bool] = never) -> dict[str, float] | None:
        """The metrics of an evaluation now; nothing if it is stopped before its end."""
        trainer = self.trainer
        self.evaluator.use(trainer.agent, trainer.compiled)
        self.evaluator.begin(seed)
        episodes = self.evaluator.run(
            trainer.state, self.min_steps, should_stop, self.max_episode_steps
        )
        if episodes is None:
            return None
        metrics = summary(trainer.step, episodes)
        trainer.evaluations.append(metrics)
        return metrics


class Listeners:
    """All callbacks of a training.

    Args:
        trainer: What is trained.
        callbacks: Who is called.
    """

    def __init__(self, trainer: Trainer, callbacks: Iterable[Callback]) -> None:
        self.trainer, self.callbacks = trainer, list(callbacks)
        self.stopped_by: list[str] = []
        """The names of those that want training to stop."""

    @property
    def going(self) -> bool:
        """Whether all want training to continue."""
        return not self.stopped_by

    def notify(self, event: str, *args: Any) -> None:
        """Calls every one of them."""
        for each in self.callbacks:
            answer = getattr(each, event)(self.trainer, *args)
            is_stop = answer is not None and not answer
            if is_stop and (name := name_of(each)) not in self.stopped_by:
                self.stopped_by.append(name)

    @contextmanager
    def asking(self, evaluation: Evaluation | None) -> Iterator[None]:
        """Inside, callbacks may ask the trainer for an evaluation."""
        if evaluation is None:
            yield
            return
        trainer = self.trainer

        def evaluate() -> dict[str, float]:
            if evaluation.is_done:
                return trainer.evaluations[-1]
            number = trainer.phase.number
            metrics = evaluation.play(trainer.env_seed(number, evaluation=True, step=trainer.step))
            assert metrics is not None
            self.notify("on_evaluation", metrics)
            return metrics

        before, trainer.services.evaluate = trainer.services.evaluate, evaluate
        try:
            yield
        finally:
            trainer.services.evaluate = before
