"""What commands share that run several runs at once: workers, and what is shown of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf

from rich.live import Live

from hyperaction.cli.console import Console
from hyperaction.cli.terminal import UserError, need
from hyperaction.errors import SettingError, check_ranges
from hyperaction.sweeps import display
from hyperaction.sweeps.local import Local
from hyperaction.sweeps.scheduler import Sweep, Workers
from hyperaction.training.memory import BESIDES, gigabytes, runs_that_fit

STOPPING = "asking all runs to save, which may take a minute; press Ctrl-C again to stop now"


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """Where runs are run, and how many at once."""

    workers: int = 0
    """Runs at once; 0 is one per core."""
    retries: int = 2
    """How often a run that died is resumed from its checkpoint."""
    ray: str = ""
    """Run on a Ray cluster: its address, auto to join one, local to start one on this machine."""

    def __post_init__(self) -> None:
        check_ranges(self, workers=(0, inf), retries=(0, inf))
        if self.ray and self.workers:
            raise SettingError("`workers` is for this machine; on Ray the cluster decides")


def make_workers(
    options: WorkerOptions, replay_bytes: int, stack: ExitStack, console: Console
) -> Workers:
    """A Ray cluster, or as many processes on this machine as its memory allows."""
    if options.ray:
        need("ray", extra="ray")
        from hyperaction.sweeps.ray import Cluster

        return stack.enter_context(Cluster(options.ray, options.retries))
    workers, fit = Local(options.workers), runs_that_fit(replay_bytes)
    if fit is None or workers.count <= fit:
        return workers
    size = gigabytes(replay_bytes + BESIDES)
    message = f"a run takes up to {size} of memory, so {fit or 'none'} can run at once"
    if options.workers or not fit:
        raise UserError(f"--workers {workers.count}: {message}")
    console.print(message, highlight=False)
    return Local(fit)


def shown(console: Console, stack: ExitStack) -> Callable[[Sweep], None]:
    """Shows a live table on a terminal, and lines elsewhere."""
    if not console.is_terminal:
        log = display.ChangeLog(lambda line: console.print(line, highlight=False, soft_wrap=True))
        return lambda sweep: log(sweep.jobs, sweep.seconds_left())
    live = stack.enter_context(Live(console=console, auto_refresh=False))

    def show(sweep: Sweep) -> None:
        size = (console.width, console.height)
        live.update(display.live_table(sweep.jobs, sweep.seconds_left(), *size), refresh=True)

    return show
