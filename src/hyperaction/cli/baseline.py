"""The command baseline."""

from __future__ import annotations

from collections.abc import Sequence

from hyperaction.baselines import BASELINES
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import STOPPED, UserError, need
from hyperaction.errors import unknown
from hyperaction.runs.progress import Progress
from hyperaction.training.config import parse_train
from hyperaction.training.display import progress_bar
from hyperaction.training.interrupts import StoppedError

USAGE = """\
usage: hyperaction baseline NAME ENV [OPTIONS]

Run what an agent is compared with, in a run of its own that tables, curves and pages show.

names:
{names}

Options are those of hyperaction train that are not the agent's: --steps, --phase-steps,
--evaluation-steps, --seed, --out, --fresh, --bins, --constraints and so on. A baseline cannot be
resumed: one that was stopped starts over."""


def main(args: Sequence[str]) -> None:
    """Runs a baseline."""
    if not args or "-h" in args or "--help" in args:
        names = "\n".join(f"  {name:<14}{each.help}" for name, each in BASELINES.items())
        print(USAGE.format(names=names))
        return
    name = args[0]
    if name not in BASELINES:
        raise UserError(f"{unknown('baseline', name, BASELINES)} (hyperaction baseline --help)")
    for module in BASELINES[name].needs:
        need(module, extra="peers")
    config = parse_train(args[1:], f"baseline {name}")
    from hyperaction.baselines.runner import run

    console = Console()
    bar = progress_bar(console, "{task.fields[more]}")
    task = bar.add_task(name, total=config.steps, more="")

    def show(progress: Progress) -> None:
        last = progress.last_return
        more = "" if last is None else f"last return {last:.1f}"
        bar.update(task, completed=min(progress.step, config.steps), more=more)

    try:
        with bar:
            run(name, config, show, lambda message: console.print(message, highlight=False))
    except (StoppedError, KeyboardInterrupt) as stop:
        raise UserError(str(stop) or "stopped; a baseline starts over", code=STOPPED) from None
    console.print(f"Written: {config.out}/metrics.jsonl", soft_wrap=True)
