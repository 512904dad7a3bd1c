"""A run in its directory: all of `hyperaction train` but what a terminal shows."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperaction.envs.factoring import unused_bins
from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.envs.names import in_words
from hyperaction.envs.statistics import not_carried
from hyperaction.errors import SettingError, for_command_line
from hyperaction.runs.directory import AGENT_FILE, Run, has_results
from hyperaction.runs.files import read_about
from hyperaction.runs.loggers import logger_class
from hyperaction.runs.remote import Mirror, cache_folder, url_of
from hyperaction.training.config import RUNS, TrainConfig
from hyperaction.training.own_callback import OwnCallback
from hyperaction.training.watchdog import Watchdog

if TYPE_CHECKING:
    from hyperaction.envs.wrapper import Factored
    from hyperaction.training.compiled import Agent
    from hyperaction.training.recorder import OnProgress


MANY_EDGES = 10_000
"""Networks of more hyperedges take so long to prepare that a person should know."""


def run(
    config: TrainConfig,
    on_ready: Callable[[Agent], None] = lambda agent: None,
    on_progress: OnProgress = lambda progress: None,
    on_message: Callable[[str], None] = lambda message: None,
) -> None:
    """Trains as configured, from the last checkpoint if there is one.

    Args:
        config: What to train, where, and for how long.
        on_ready: Called with the agent once nothing is wrong with the configuration.
        on_progress: Called with how far the run is.
        on_message: Called with what a person should know.
    """

    def late(call: str) -> Exception:
        limit = f"{config.env_timeout:g} s (--env-timeout)"
        return EnvironmentFaultError(f"the environment's {call} took more than {limit}")

    use_one_thread()
    gc.set_threshold(GARBAGE_THRESHOLD)
    mirror = mirror_of(config)
    with ExitStack() as held:
        callbacks = [OwnCallback.of(reference) for reference in config.callback]
        for name in config.loggers:
            logger_class(name)  # One that cannot be imported is reported now.
        watchdog = held.enter_context(Watchdog(config.env_timeout, late))
        env = config.make_env(watchdog)
        if not config.fresh and _is_encoded_otherwise(config.out, env):
            config = replace(config, plain_observations=True)
            env.close()
            env = config.make_env(watchdog)
        config = config.with_env_edges(env)
        _report(config, env, on_message)
        # JAX takes a while to load: mistakes are reported before.
        from hyperaction import kernels
        from hyperaction.training import compile_cache
        from hyperaction.training.assembly import assemble
        from hyperaction.training.run_parts import MadeParts
        from hyperaction.training.session import Session

        compile_cache.use()
        agent, memory = assemble(config.agent_config, env)
        env.close()
        with opened(config, config.as_dict(), on_message, mirror) as (directory, on_saved):
            on_ready(agent)
            on_message(memory)
            if problem := kernels.problem():
                on_message(problem)
            parts = MadeParts(config, agent, watchdog)
            session = Session(
                config, parts, callbacks, on_progress=on_progress, on_message=on_message
            )
            session.train(directory, on_saved)


def mirror_of(config: TrainConfig) -> Mirror | None:
    """The mirror of a run that is elsewhere; an `out` that cannot be is refused."""
    url = url_of(config.out)
    if not url and config.out.exists() and not config.out.is_dir():
        raise SettingError(f"`out` {config.out} is a file, not a directory")
    if url and config.fresh:
        raise SettingError("`fresh` is for directories of this machine; name another `out`")
    if config.fresh and Path.cwd().is_relative_to(config.out.resolve()):
        raise SettingError(
            f"`fresh` would move {config.out.resolve()}, where you are; choose another `out`"
        )
    return Mirror(url, cache_folder(url)) if url else None


@contextmanager
def opened(
    config: TrainConfig,
    settings: dict[str, Any],
    on_message: Callable[[str], None],
    mirror: Mirror | None,
) -> Iterator[tuple[Run, Callable[[], None]]]:
    """A run's directory, locked and open for writing, and what is called after checkpoints.

    Args:
        config: Where it is.
        settings: What `config.json` says.
        on_message: Called with what a person should know.
        mirror: The mirror of a run that is elsewhere.
    """
    with ExitStack() as held:
        out = config.out
        if mirror is not None:
            mirror.pull()
            out = mirror.folder
            held.callback(_withdraw, mirror)
        directory = held.enter_context(
            Run(out, settings, fresh=config.fresh, loggers=config.loggers, on_message=on_message)
        )
        if mirror is not None:
            mirror.push()  # An address that cannot be written to fails now.
        yield directory, mirror.push if mirror else lambda: None
    if mirror is not None:
        mirror.push()


def _report(config: TrainConfig, env: Factored, on_message: Callable[[str], None]) -> None:
    """Reports what there is to say about an environment and the hyperedges on it."""
    if named := in_words(env.actions.names):
        on_message(f"vertices: {named}")
    if env.observations.layout is not None:
        on_message(f"observations: {env.observations.layout}")
    unused = unused_bins(env.env.action_space)
    if unused and config.bins != RUNS[config.preset].get("bins", TrainConfig.bins):
        on_message(f"warning: {for_command_line(unused)}")
    if lost := not_carried(env.env):
        on_message(
            f"the statistics {', '.join(lost)} begin anew at every phase and evaluation: only "
            f"those with a mean, var and count can be carried over"
        )
    hypergraph = config.agent_config.hypergraph(env.sizes)
    if hypergraph is not None and hypergraph.num_edges > MANY_EDGES:
        on_message(
            f"preparing {hypergraph.num_edges:,} hyperedges with {hypergraph.num_outputs:,} "
            f"outputs, which may take minutes"
        )


def _is_encoded_otherwise(out: Path, env: Factored) -> bool:
    """Whether the agent of a run takes other observations, as those of earlier versions may."""
    about = read_about(out / AGENT_FILE)  # None where there is no agent yet.
    return isinstance(about, dict) and about.get("observations") != env.observations.described()


def _withdraw(mirror: Mirror) -> None:
    """Leaves nothing behind elsewhere either, of a start that failed."""
    if not has_results(mirror.folder):
        with suppress(OSError):
            mirror.push()


GARBAGE_THRESHOLD = 100_000
"""Objects between searches for garbage: a start makes many that stay, and would search for long."""

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def use_one_thread() -> None:
    """Before JAX computes anything: results are the same on any number of cores.

    A run can so be resumed elsewhere, and with networks of this size threads gain nothing.
    """
    # XLA splits loops by the number of threads, which changes how their sums are rounded.
    os.environ.setdefault("PJRT_NPROC", "1")
    flags = os.environ.get("XLA_FLAGS", "")
    if ONE_THREAD.split("=")[0] not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {ONE_THREAD}".strip()
