"""The commands train, sweep and evaluate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from hyperaction.cli.terminal import STOPPED, UserError, need, progress_bar
from hyperaction.parsing import parse
from hyperaction.stopping import StoppedError, stoppable


def train(args: Sequence[str]) -> None:
    """Train an agent on a Gymnasium environment."""
    from hyperaction.options import defaults

    options_type, default = defaults(list(args))
    options = parse(options_type, "train", args, default=default)
    from rich.console import Console

    from hyperaction.running.executing import execute
    from hyperaction.runs.progress import Progress
    from hyperaction.runs.remote import url_of

    console = Console(markup=False)
    bar = progress_bar(console, "{task.fields[more]}")
    task = bar.add_task("training", total=options.steps, more="")

    def begin(agent: Any) -> None:
        console.print(_about(options.env, agent), highlight=False)
        bar.start()

    def show(progress: Progress) -> None:
        more = f"{progress.steps_per_second:.0f} steps/s"
        if progress.last_return is not None:
            more = f"{more}, last return {progress.last_return:.1f}"
        bar.update(task, completed=min(progress.step, options.steps), more=more)

    try:
        execute(options, begin, show, lambda news: console.print(news, highlight=False))
    except StoppedError as stop:
        raise UserError(f"{stop}; the same command goes on from there", code=STOPPED) from None
    except KeyboardInterrupt:
        raise UserError(
            "stopped at once; the same command goes on from the last checkpoint, if there is one",
            code=STOPPED,
        ) from None
    finally:
        if bar.live.is_started:
            bar.stop()
    out = url_of(options.out) or options.out
    console.print(f"Written: {out}/metrics.jsonl", soft_wrap=True)
    console.print(f"Play it: hyperaction evaluate {out}", soft_wrap=True)


def _about(env: str, agent: Any) -> str:
    if hasattr(agent, "hypergraph"):
        return f"{env}: {agent.hypergraph}"
    return f"{env}: {agent.action_length} real numbers per action"


def evaluate(args: Sequence[str]) -> None:
    """Play a run's trained agent."""
    from hyperaction.options import EvaluateOptions

    options = parse(EvaluateOptions, "evaluate", args)
    from rich.console import Console

    from hyperaction.running.playing import play
    from hyperaction.runs.remote import to_read

    console = Console(markup=False)
    count = 0

    def told(episode: Any) -> None:
        nonlocal count
        if not count:
            console.print("  episode     return    length")
        count += 1
        console.print(f"{count:>9} {episode.total:>10.1f} {episode.length:>9}", highlight=False)

    run = to_read(options.run)
    totals = [episode.total for episode in play(run, options.episodes, options.seed, told)]
    mean = sum(totals) / len(totals)
    console.print(f"     mean {mean:>10.1f}    from {min(totals):.1f} to {max(totals):.1f}")


def sweep(args: Sequence[str]) -> None:
    """Run a grid of environments, agents and seeds."""
    from hyperaction.options import SweepOptions

    options = parse(SweepOptions, "sweep", args)
    from hyperaction.sweeps import grid as grids
    from hyperaction.sweeps.sweep import Sweep

    grid = grids.load(options.grid)
    changes = {"steps": options.steps, "roms": options.roms}
    cells = grids.chosen(grid, only=options.only, seeds=options.seeds, **changes)
    grids.check_same(cells, options.out)
    replay_bytes = grids.check_fits(grid.name, cells)
    from rich.console import Console

    from hyperaction.report import sweep as report
    from hyperaction.runs.lock import locked
    from hyperaction.runs.remote import here

    def rows(of: Sweep) -> list[report.Row]:
        return [
            report.Row(
                place.cell.name, place.state, place.progress.step, place.cell.steps,
                place.progress.steps_per_second, place.progress.last_return, place.attempts,
                place.reason,
            )
            for place in of.places
        ]  # fmt: skip

    console = Console(markup=False)
    with ExitStack() as held:
        held.enter_context(locked(here(options.out)))
        workers = _workers(options, replay_bytes, held, console)
        running = Sweep(cells, options.out, workers, options.retries)
        stopping = held.enter_context(stoppable(lambda: console.print(STOPPING)))
        show = _sweep_shown(console, held)
        lost = running.run(lambda of: show(rows(of), of.seconds_left()), stopping)
    if lost:
        names = ", ".join(cell.name for cell in lost)
        raise UserError(f"stopped; these go on from their last checkpoints: {names}", code=STOPPED)
    if stopping():
        raise UserError(
            "stopped, all runs saved; the same command goes on from there", code=STOPPED
        )
    said = report.summary(rows(running))
    for line in said:
        console.print(line, highlight=False, soft_wrap=True)
    console.print(f"Look: hyperaction table {options.out}", soft_wrap=True)
    if running.in_state("failed"):
        raise UserError(f"{len(running.in_state('failed'))} runs failed, see above", code=1)


STOPPING = "asking all runs to save, which takes a minute at most; again: stop now"


def _workers(options: Any, replay_bytes: int, held: ExitStack, console: Any) -> Any:
    if options.ray:
        need("ray", extra="ray")
        from hyperaction.sweeps.cluster import Cluster

        return held.enter_context(Cluster(options.ray, options.retries))
    from hyperaction.sweeps.local import Local
    from hyperaction.training.memory import BESIDES, gigabytes, runs_that_fit

    workers, fit = Local(options.workers), runs_that_fit(replay_bytes)
    if fit is None or workers.count <= fit:
        return workers
    takes = gigabytes(replay_bytes + BESIDES)
    told = f"a run takes up to {takes} of memory, so that {fit or 'none'} can run at once"
    if options.workers or not fit:
        raise UserError(f"--workers {workers.count}: {told}")
    console.print(told, highlight=False)
    return Local(fit)


def _sweep_shown(console: Any, held: ExitStack) -> Callable[[Any, float | None], None]:
    """A live table on a terminal, lines of what has changed elsewhere."""
    from hyperaction.report import sweep as report

    if not console.is_terminal:
        return report.Lines(lambda line: console.print(line, highlight=False, soft_wrap=True))
    from rich.live import Live

    live = held.enter_context(Live(console=console, auto_refresh=False))

    def show(rows: Any, seconds_left: float | None) -> None:
        live.update(report.live(rows, seconds_left, console.width, console.height), refresh=True)

    return show
