"""A run in its directory, watched: all of `hyperaction train` but what a terminal shows."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from hyperaction.environments.faults import EnvironmentFaultError
from hyperaction.options import TrainOptions
from hyperaction.running.watchdog import Watchdog
from hyperaction.runs import Run
from hyperaction.runs.remote import Mirror, kept_here, url_of

if TYPE_CHECKING:
    from hyperaction.running.recorder import Listener
    from hyperaction.training import Agent


def execute(
    options: TrainOptions[Any],
    begin: Callable[[Agent], None] = lambda agent: None,
    listener: Listener = lambda progress: None,
    say: Callable[[str], None] = lambda news: None,
) -> None:
    """Trains as the options say.

    Args:
        options: What to train, where, and for how long.
        begin: Told the agent when nothing is wrong with the options.
        listener: Told how far the run is.
        say: Told what a person should know.
    """

    def late(doing: str) -> Exception:
        limit = f"{options.env_timeout:g} s (--env-timeout)"
        return EnvironmentFaultError(f"the environment's {doing} took more than {limit}")

    _use_one_thread()
    url = url_of(options.out)
    if not url and options.out.exists() and not options.out.is_dir():
        raise ValueError(f"--out {options.out} is a file, not a directory")
    if url and options.fresh:
        raise ValueError("--fresh is for directories of this machine; name another --out")
    mirror = Mirror(url, kept_here(url)) if url else None
    with ExitStack() as held:
        watchdog = held.enter_context(Watchdog(options.env_timeout, late))
        env = options.make_env(watchdog)
        options.check_sizes(env.sizes)
        # JAX takes a while to load: mistakes are told before.
        from hyperaction.running.prepared import Prepared

        prepared = Prepared(options, env, watchdog)
        env.close()
        out = options.out
        if mirror is not None:
            mirror.pull()
            out = mirror.folder
        kept = {"fresh": options.fresh, "tensorboard": options.tensorboard}
        run = held.enter_context(Run(out, options.config(), **kept))
        if mirror is not None:
            mirror.push()  # A place that cannot be written to is found out now.
        begin(prepared.agent)
        say(prepared.memory)
        prepared.train(run, listener, say, mirror.push if mirror else lambda: None)
    if mirror is not None:
        mirror.push()


ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def _use_one_thread() -> None:
    """Before JAX computes anything: sums come out the same on any number of cores.

    A run can so go on elsewhere to the same result, and with networks of this size threads gain
    nothing.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if ONE_THREAD.split("=")[0] not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {ONE_THREAD}".strip()
