"""The command sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated

from rich.live import Live

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import STOPPED, UserError, need
from hyperaction.errors import SettingError, check_ranges
from hyperaction.runs.lock import locked
from hyperaction.runs.remote import here
from hyperaction.sweeps import display
from hyperaction.sweeps import grid as grids
from hyperaction.sweeps.local import Local
from hyperaction.sweeps.scheduler import Sweep, Workers
from hyperaction.training.interrupts import stoppable
from hyperaction.training.memory import BESIDES, gigabytes, runs_that_fit

STOPPING = "asking all runs to save, which may take a minute; press Ctrl-C again to stop now"


@dataclass(frozen=True)
class SweepOptions:
    """Run a grid of environments, agents and seeds; rerun the same command to resume."""

    grid: Annotated[str, Positional("GRID")]
    """A TOML file, or the name of a ready-made grid such as paper-physical."""
    out: Path = Path("results/sweep")
    """The directory for all runs."""
    only: tuple[str, ...] = ()
    """Only runs whose names match one of these patterns, such as 'Half*/hgqn-r?/*'."""
    steps: int = 0
    """Steps of every run instead of the grid's; 0 leaves those."""
    roms: str = ""
    """A directory with cartridges of Atari games, instead of those that come with ale-py."""
    seeds: int = 0
    """Only the first so many seeds of the grid; 0 is all."""
    workers: int = 0
    """Runs at once; 0 is one per core."""
    retries: int = 2
    """How often a run that died is resumed from its checkpoint."""
    ray: str = ""
    """Run on a Ray cluster: its address, auto to join one, local to start one on this machine."""

    def __post_init__(self) -> None:
        check_ranges(self, **dict.fromkeys(("steps", "seeds", "workers", "retries"), (0, inf)))
        if self.ray and self.workers:
            raise SettingError("`workers` is for this machine; on Ray the cluster decides")


def main(args: Sequence[str]) -> None:
    """Runs all cells of a grid that are not done yet."""
    options: SweepOptions = parse(SweepOptions, "sweep", args)
    grid = grids.load(options.grid)
    changes = {"steps": options.steps, "roms": options.roms}
    cells = grids.chosen(grid, only=options.only, seeds=options.seeds, **changes)
    damaged = grids.check_same(cells, options.out)
    replay_bytes = grids.check_fits(grid.name, cells)
    console = Console()
    with ExitStack() as stack:
        stack.enter_context(locked(here(options.out)))
        workers = _workers(options, replay_bytes, stack, console)
        sweep = Sweep(cells, options.out, workers, options.retries)
        for cell, reason in damaged.items():
            sweep.fail(cell, reason)
        is_stopping = stack.enter_context(stoppable(lambda: console.print(STOPPING)))
        killed = sweep.run(_shown(console, stack), is_stopping)
    if killed:
        names = ", ".join(cell.name for cell in killed)
        raise UserError(f"stopped; these resume from their last checkpoint: {names}", code=STOPPED)
    if is_stopping():
        raise UserError("stopped, all runs saved; rerun the same command to resume", code=STOPPED)
    for line in display.summary(sweep.jobs):
        console.print(line, highlight=False, soft_wrap=True)
    console.print(f"Summarise: hyperaction table {options.out}", soft_wrap=True)
    if failed := sweep.in_state("failed"):
        raise UserError(f"{len(failed)} runs failed, see above", code=1)


def _workers(
    options: SweepOptions, replay_bytes: int, stack: ExitStack, console: Console
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


def _shown(console: Console, stack: ExitStack) -> Callable[[Sweep], None]:
    """Shows a live table on a terminal, and lines elsewhere."""
    if not console.is_terminal:
        log = display.ChangeLog(lambda line: console.print(line, highlight=False, soft_wrap=True))
        return lambda sweep: log(sweep.jobs, sweep.seconds_left())
    live = stack.enter_context(Live(console=console, auto_refresh=False))

    def show(sweep: Sweep) -> None:
        size = (console.width, console.height)
        live.update(display.live_table(sweep.jobs, sweep.seconds_left(), *size), refresh=True)

    return show
