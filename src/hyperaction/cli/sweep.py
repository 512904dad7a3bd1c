"""The command sweep."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import STOPPED, UserError
from hyperaction.cli.workers import STOPPING, WorkerOptions, make_workers, shown
from hyperaction.errors import check_ranges
from hyperaction.runs.lock import locked
from hyperaction.runs.remote import here
from hyperaction.sweeps import display
from hyperaction.sweeps import grid as grids
from hyperaction.sweeps.scheduler import Sweep
from hyperaction.training.interrupts import stoppable


@dataclass(frozen=True)
class SweepOptions(WorkerOptions):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, **dict.fromkeys(("steps", "seeds"), (0, inf)))


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
        workers = make_workers(options, replay_bytes, stack, console)
        sweep = Sweep(cells, options.out, workers, options.retries)
        for cell, reason in damaged.items():
            sweep.fail(cell, reason)
        is_stopping = stack.enter_context(stoppable(lambda: console.print(STOPPING)))
        killed = sweep.run(shown(console, stack), is_stopping)
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
