"""The command bandits."""

from __future__ import annotations

from collections.abc import Sequence

from hyperaction.arguments import parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import STOPPED, UserError, need
from hyperaction.studies.bandits.settings import BanditStudy, Cell
from hyperaction.studies.bandits.study import run
from hyperaction.training.display import progress_bar
from hyperaction.training.interrupts import StoppedError


def main(args: Sequence[str]) -> None:
    """Runs the bandit study, or resumes it."""
    study: BanditStudy = parse(BanditStudy, "bandits", args)
    need("matplotlib", extra="report")
    from hyperaction.studies.bandits.command import show_results

    console = Console()
    try:
        with progress_bar(console) as bar:
            task = bar.add_task("training", total=sum(cell.cost for cell in study.cells))
            work: dict[Cell, float] = {}

            def show(cell: Cell, iterations: int) -> None:
                work[cell] = cell.cost * iterations / study.iterations
                bar.update(task, completed=sum(work.values()))

            errors, scales = run(study, show)
    except StoppedError as stop:
        raise UserError(f"{stop}; rerun the same command to resume", code=STOPPED) from None
    show_results(study, errors, scales, console)
