"""What `learn` does: in memory, or in the directory of a run as the command does."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hyperaction.api.run_parts import AgentParts, evaluation_envs
from hyperaction.errors import SettingError
from hyperaction.runs.loggers import Logger
from hyperaction.training.callbacks import Callback, LogTo, as_callbacks
from hyperaction.training.config import RUNS, TrainConfig
from hyperaction.training.display import TrainingBar
from hyperaction.training.evaluator import Evaluator
from hyperaction.training.interrupts import StoppedError, stoppable
from hyperaction.training.loop import few_updates, train
from hyperaction.training.runner import mirror_of, opened
from hyperaction.training.session import Session

if TYPE_CHECKING:
    from hyperaction.api.base import BaseAgent

LOG_INTERVAL = 1_000
"""Steps between metrics in memory."""


class Wanted(NamedTuple):
    """What `learn` was asked for; see there."""

    steps: int
    callback: Any
    out: Path | None
    eval_env: Any
    progress_bar: bool
    logger: Any
    eval_every: int | None
    eval_steps: int | None
    log_interval: int | None
    checkpoint_every: int | None

    def of_run(self, name: str, preset: Any) -> Any:
        """What a run has by default where a preset is used."""
        return RUNS[preset].get(name, getattr(TrainConfig, name))


def learn(agent: BaseAgent, wanted: Wanted) -> None:
    """Learns as was asked for."""
    assert agent.trainer is not None
    make_env = evaluation_envs(agent, wanted)
    names, loggers = _loggers(wanted)
    callbacks = as_callbacks(wanted.callback) + [LogTo(each) for each in loggers]
    first = agent.step
    bar = TrainingBar(first, first + wanted.steps) if wanted.progress_bar else None
    with ExitStack() as held:
        if bar is not None:
            held.enter_context(bar.shown())
            callbacks.append(bar)
        if wanted.out is None:
            _learn_in_memory(agent, wanted, callbacks, make_env)
        else:
            on_message = (lambda message: None) if bar is None else bar.message
            _learn_in_directory(agent, wanted, callbacks, make_env, names, on_message)


def _loggers(wanted: Wanted) -> tuple[list[str] | None, list[Logger]]:
    """Names of loggers that write into the directory, and others; none is the run's default."""
    given = wanted.logger
    several = given if isinstance(given, list | tuple) else [] if given is None else [given]
    names = [each for each in several if isinstance(each, str)]
    if names and wanted.out is None:
        raise SettingError(f"`logger` {names[0]} writes into the directory of a run; give `out`")
    others = [each for each in several if not isinstance(each, str)]
    return None if given is None or (others and not names) else names, others


def _learn_in_memory(
    agent: BaseAgent, wanted: Wanted, callbacks: Sequence[Callback], make_env: Any
) -> None:
    trainer = agent.trainer
    assert trainer is not None
    if wanted.checkpoint_every is not None:
        raise SettingError("`checkpoint_every` is for runs in a directory; give `out`")
    until, preset = trainer.step + wanted.steps, agent.origin.preset
    if warning := few_updates(trainer, until):
        warnings.warn(warning.replace("`", ""), stacklevel=4)
    evaluator, phase_steps = None, wanted.log_interval or LOG_INTERVAL
    if make_env is not None:
        closes = isinstance(wanted.eval_env or agent.origin.env, str)
        evaluator = Evaluator(trainer.agent, trainer.compiled, make_env, closes=closes)
        phase_steps = wanted.eval_every or wanted.of_run("phase_steps", preset)
    trainer.services.save_agent = agent.save
    # The first interrupt waits for the end of the step, and the second for the end of its
    # update, in whose middle the old state is gone and the new one not there yet.
    with (
        agent.backup.kept(trainer),
        stoppable(signals=(signal.SIGINT,), is_busy=lambda: trainer.is_busy) as should_stop,
    ):
        train(
            trainer,
            until,
            [agent.backup, *callbacks],
            evaluator=evaluator,
            exact=True,
            phase_steps=phase_steps,
            evaluation_steps=wanted.eval_steps or 5_000,
            should_stop=should_stop,
        )
    if should_stop():
        raise KeyboardInterrupt


def _learn_in_directory(
    agent: BaseAgent,
    wanted: Wanted,
    callbacks: Sequence[Callback],
    make_env: Any,
    loggers: Sequence[str] | None,
    on_message: Callable[[str], None],
) -> None:
    config = run_config_of(agent, wanted, loggers, evaluates=make_env is not None)

    def warn(message: str) -> None:
        warnings.warn(message.removeprefix("warning: "), stacklevel=2)

    parts = AgentParts(agent, wanted, make_env)
    session = Session(
        config,
        parts,
        [agent.backup, *callbacks],
        on_message=on_message,
        on_warning=warn,
        held=agent.backup.kept,
        is_busy=lambda trainer: trainer.is_busy,
    )
    settings = config.as_dict() | _of_objects(agent)
    try:
        with opened(config, settings, warn, mirror_of(config)) as (directory, on_saved):
            session.train(directory, on_saved)
    except StoppedError as stop:
        message = f"{stop}; run the same script again to resume"
        raise KeyboardInterrupt(message) from None
    finally:
        parts.close()


def run_config_of(
    agent: BaseAgent, wanted: Wanted, loggers: Sequence[str] | None, *, evaluates: bool
) -> TrainConfig:
    """The configuration of the run, as the command would have it."""
    assert agent.trainer is not None
    assert wanted.out is not None
    origin, preset = agent.origin, agent.origin.preset
    phase_steps = wanted.eval_every if evaluates else wanted.log_interval
    steps = wanted.eval_steps or wanted.of_run("evaluation_steps", preset) or 5_000
    checkpoint_steps = wanted.checkpoint_every or wanted.of_run("checkpoint_steps", preset)
    return TrainConfig(
        env=origin.env_name,
        config=agent.config,
        agent=agent.name,
        preset=preset,
        steps=agent.step + wanted.steps,
        phase_steps=phase_steps or wanted.of_run("phase_steps", preset),
        evaluation_steps=steps if evaluates else 0,
        checkpoint_steps=checkpoint_steps,
        num_envs=agent.trainer.env.num_envs,
        seed=agent.trainer.seed,
        out=wanted.out,
        loggers=TrainConfig.loggers if loggers is None else tuple(loggers),
        bins=origin.bins,
        action_shape=origin.action_shape,
        action_names=origin.action_names,
        constraints=origin.constraints or (),
        no_action=agent.interface.no_action,
    )


def _of_objects(agent: BaseAgent) -> dict[str, Any]:
    """What only Python can give: an environment that no id makes, constraints that are objects."""
    more: dict[str, Any] = {}
    if agent.origin.is_object:
        more["env_object"] = True
    if agent.origin.constraints is None and agent.constraints.always:
        more["constraints"] = agent.constraints.described()
    return more
