"""The command `hyperaction`: one thin function per verb. Nothing heavy is imported before work."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from itertools import islice
from typing import Any

from hyperaction.parsing import ArgumentError, parse
from hyperaction.stopping import StoppedError, stoppable

DESCRIPTION = """\
Value-based reinforcement learning where an action has several dimensions:
action hypergraph networks and hypergraph Q-networks."""


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
    bar = _progress(console, "{task.fields[more]}")
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
    cells = grids.chosen(grid, only=options.only, seeds=options.seeds, steps=options.steps)
    grids.check_same(cells, options.out)
    grids.check_fits(grid.name, cells)
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
        running = Sweep(cells, options.out, _workers(options, held), options.retries)
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


def _workers(options: Any, held: ExitStack) -> Any:
    if options.ray:
        _need("ray", extra="ray")
        from hyperaction.sweeps.cluster import Cluster

        return held.enter_context(Cluster(options.ray, options.retries))
    from hyperaction.sweeps.local import Local

    return Local(options.workers)


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


def compare(args: Sequence[str]) -> None:
    """Set runs beside the curves that the paper's authors published."""
    from hyperaction.options import CompareOptions, run_config

    options = parse(CompareOptions, "compare", args)
    _need("matplotlib", extra="report")
    import numpy as np
    from rich.console import Console

    from hyperaction.report import compare as report
    from hyperaction.runs import read_metrics
    from hyperaction.runs.remote import to_read
    from hyperaction.studies.physical import published

    curves = []
    for given in options.runs:
        out = to_read(given)
        config, rows = run_config(out), read_metrics(out, "eval")
        if not rows:
            raise UserError(f"{out} has no evaluation yet", code=1)
        steps, returns = (np.array([row[key] for row in rows]) for key in ("step", "return"))
        curve = report.Curve(given.resolve().name, config["env"], steps, returns)
        curves.append((curve, published(config)))
    console = Console(markup=False)
    groups = report.grouped(curves)
    for group in groups:
        console.print(report.table(group, options.rows))
        for curve in group.curves:
            if group.published is not None:
                console.print(report.sentence(curve, group.published), highlight=False)
    console.print(f"Written: {report.draw(groups, options.out)}", soft_wrap=True)


def explain(args: Sequence[str]) -> None:
    """Find which joint actions matter to trained agents."""
    from hyperaction.options import ExplainOptions

    options = parse(ExplainOptions, "explain", args)
    _need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.insight.runs import explain_runs
    from hyperaction.report import explain as report
    from hyperaction.runs.arrays import write_whole
    from hyperaction.runs.remote import to_read

    console = Console(markup=False)
    bar = _progress(console)
    task = bar.add_task("looking", total=None)

    def show(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        runs = [to_read(run) for run in options.runs]
        found = explain_runs(runs, options.steps, options.weights, options.seed, show)
    finally:
        if bar.live.is_started:
            bar.stop()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "explain.json"
    write_whole(file, json.dumps(found, indent=2) + "\n")
    figure = report.draw(found, options.out / "explain.png")
    console.print(report.table(found, options.rows))
    for sentence in report.sentences(found) if found["shares"] else [report.NO_SHARES]:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print(f"Written: {file} {figure}", soft_wrap=True)


def video(args: Sequence[str]) -> None:
    """Film a trained agent, and what it thinks."""
    from hyperaction.options import VideoOptions

    options = parse(VideoOptions, "video", args)
    for module in ("matplotlib", "imageio_ffmpeg"):
        _need(module, extra="report")
    from rich.console import Console

    from hyperaction.insight.filming import film
    from hyperaction.insight.runs import names_of, trained
    from hyperaction.report import video as report
    from hyperaction.runs.remote import to_read

    if sys.platform == "linux" and "DISPLAY" not in os.environ:
        os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo's way to render without a display.
    console = Console(markup=False)
    agent = trained(to_read(options.run))
    painter = report.Painter(agent.hypergraph.edges, names_of(agent, options.seed))
    shots = film(agent, options.episodes, options.seed)
    with (
        report.film(options.out, options.fps or agent.fps) as add,
        console.status("filming") as status,
    ):
        for count, shot in enumerate(islice(shots, options.steps or None), 1):
            add(painter.paint(shot))
            if count % 20 == 0:
                status.update(f"filming: {count:,} steps, return {shot.total:,.1f}")
    console.print(f"Written: {options.out}", soft_wrap=True)


def report(args: Sequence[str]) -> None:
    """Write a page about runs: curves, tables, settings, hyperedges, films."""
    from hyperaction.options import ReportOptions

    options = parse(ReportOptions, "report", args)
    _need("vl_convert", extra="report")
    from rich.console import Console

    from hyperaction.report.page import html
    from hyperaction.report.page.films import linked
    from hyperaction.runs.arrays import write_whole

    data, films = _page_data(options.folders, options.last)
    if not data["runs"]:
        where = " ".join(str(folder) for folder in options.folders)
        raise UserError(f"no run was found in {where}", code=1)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(options.out, html(data, linked(films, options.out.parent, embed=options.embed)))
    Console(markup=False).print(f"Written: {options.out}", soft_wrap=True)


def watch(args: Sequence[str]) -> None:
    """Serve that page live, to this machine alone."""
    from hyperaction.options import WatchOptions

    options = parse(WatchOptions, "watch", args)
    _need("vl_convert", extra="report")
    from hyperaction.report.page.server import LOOPBACK, server

    with server(options.port, lambda: _page_data(options.folders, options.last)) as served:
        print(f"http://{LOOPBACK}:{served.server_port}/ (Ctrl-C ends it)")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            served.serve_forever()


def _page_data(folders: Sequence[Any], last: int) -> tuple[dict[str, Any], list[Any]]:
    """What a page about runs shows, and their films."""
    from hyperaction.report.page import data as page
    from hyperaction.report.page.films import find
    from hyperaction.runs import read_metrics
    from hyperaction.runs.remote import to_read
    from hyperaction.studies.physical import published

    names = {out: name for name, out in page.named([to_read(folder) for folder in folders])}
    found = []
    for out, config in _configs(list(names))[0].items():
        there = (out / "metrics.jsonl").exists()
        rows = [read_metrics(out, kind) if there else [] for kind in ("eval", "train")]
        found.append(page.Found(names[out], out, config, *rows))
    return page.collect(found, published, last), find([(run.name, run.out) for run in found])


def table(args: Sequence[str]) -> None:
    """Sum up runs over seeds, per environment and overall."""
    from hyperaction.options import TableOptions

    options = parse(TableOptions, "table", args)
    from rich.console import Console

    from hyperaction.report import table as report
    from hyperaction.runs import read_metrics
    from hyperaction.runs.remote import to_read

    folders = [to_read(folder) for folder in options.folders]
    configs, left_out = _configs(report.find_runs(folders))
    agents = report.labels(configs)
    results = []
    for out, config in configs.items():
        try:
            evaluations = read_metrics(out, "eval") if (out / "metrics.jsonl").exists() else []
            scored = report.score(evaluations, options.last, options.at)
            results.append(report.Result(config["env"], agents[out], *scored))
        except ValueError as error:
            left_out.append(f"{out}: {error}")
    if not results:
        where = " ".join(str(folder) for folder in options.folders)
        raise UserError(f"no run with an evaluation was found in {where}", code=1)
    for told in left_out:
        print(f"hyperaction: left out {told}", file=sys.stderr)
    found = report.lines(results)
    if options.format != "text":
        written = {"csv": report.as_csv, "markdown": report.as_markdown}[options.format]
        print(written(found), end="")
        return
    console = Console(markup=False)
    for one in report.as_text(found):
        console.print(one)
    console.print(report.explained(results, options.last), highlight=False)


def _configs(outs: Sequence[Any]) -> tuple[dict[Any, dict[str, Any]], list[str]]:
    """The settings of runs, and what is wrong with those whose settings cannot be read."""
    from hyperaction.options import run_config

    configs, problems = {}, []
    for out in outs:
        try:
            configs[out] = run_config(out)
        except ValueError as error:
            problems.append(str(error))
    return configs, problems


def bandits(args: Sequence[str]) -> None:
    """Compare action hypergraph networks with a table on bandits (section 4)."""
    from hyperaction.studies.bandits.settings import BanditStudy

    study = parse(BanditStudy, "bandits", args)
    _need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.report import bandits as report
    from hyperaction.studies.bandits import files
    from hyperaction.studies.bandits.study import run

    console = Console(markup=False)
    try:
        with _progress(console) as bar:
            total = sum(cell.cost * study.iterations for cell in study.cells)
            task = bar.add_task("training", total=total)
            work: dict[Any, float] = {}

            def progress(cell: Any, iterations: int) -> None:
                work[cell] = cell.cost * iterations
                bar.update(task, completed=sum(work.values()))

            by_cell, scales = run(study, progress)
    except KeyboardInterrupt:
        raise UserError("stopped; run the same command to continue", code=STOPPED) from None
    errors: report.Errors = {(cell.size, cell.model): table for cell, table in by_cell.items()}
    settings = {"trials": study.trials, "iterations": study.iterations, "seed": study.seed}
    summary = report.summary(settings, errors, scales)
    written = [
        files.write_csv(study, by_cell),
        files.write_json(study.out / "summary.json", summary),
        *report.draw(errors, scales, study.out),
    ]
    console.print(report.table(errors))
    for finding in report.findings(errors, scales):
        verdict = {True: "holds", False: "does not hold", None: "cannot be told"}[finding.holds]
        console.print(f"{finding.claim}: {verdict} ({finding.evidence})")
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)


def bench(args: Sequence[str]) -> None:
    """Measure speed as ratios in one run: bench maximise, bench train."""
    topics = {"maximise": _bench_maximise, "train": _bench_train}
    if not args or args[0] in ("-h", "--help"):
        print("usage: hyperaction bench TOPIC [OPTIONS]\n\ntopics:")
        print("  maximise    the greedy joint action against the forward pass")
        print("  train       one training step against its floor and other libraries")
        print("\nhyperaction bench TOPIC --help explains a topic's options.")
        return
    if args[0] not in topics:
        raise UserError(_unknown("benchmark", args[0], list(topics)))
    topics[args[0]](args[1:])


def _bench_maximise(args: Sequence[str]) -> None:
    from hyperaction.bench.settings import BenchMaximise

    settings = parse(BenchMaximise, "bench maximise", args)
    _need("matplotlib", extra="report")
    if settings.peer_states:
        _need("pytoulbar2", extra="peers", unless="--peer-states 0")
    settings.out.mkdir(parents=True, exist_ok=True)
    _one_core()
    from rich.console import Console

    from hyperaction.bench.maximise import run
    from hyperaction.report import maximise as report

    console = Console(markup=False)
    with console.status("measuring") as status:
        rows = run(settings, lambda what: status.update(f"measuring: {what}"))
    file = settings.out / "maximise.json"
    file.write_text(json.dumps(rows, indent=2) + "\n")
    figure = report.draw_growth(rows["growth"], settings.out)
    console.print(report.exact_table(rows["exact"]))
    console.print(report.large_table(rows["large"]))
    console.print(f"Written: {file} {figure}", soft_wrap=True)


def _bench_train(args: Sequence[str]) -> None:
    from hyperaction.bench.settings import BenchTrain

    settings = parse(BenchTrain, "bench train", args)
    _need("pybullet_envs_gymnasium", extra="physical")
    settings.out.mkdir(parents=True, exist_ok=True)
    _one_core()
    from rich.console import Console

    from hyperaction.bench.train import run
    from hyperaction.report import train as report

    console = Console(markup=False)
    with console.status("measuring") as status:
        found = run(settings, lambda what: status.update(f"measuring: {what}"))
    file = settings.out / "train.json"
    file.write_text(json.dumps(found, indent=2) + "\n")
    console.print(report.split_table(found))
    for sentence in report.sentences(found):
        console.print(sentence, highlight=False)
    console.print(f"Written: {file}", soft_wrap=True)


def _one_core() -> None:
    if hasattr(os, "sched_setaffinity"):  # Before JAX counts the cores.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


COMMANDS: dict[str, dict[str, Callable[[Sequence[str]], None]]] = {
    "Train": {"train": train, "sweep": sweep, "evaluate": evaluate},
    "Look": {"compare": compare, "table": table, "explain": explain, "video": video},
    "Share": {"report": report, "watch": watch},
    "Reproduce the paper": {"bandits": bandits},
    "Measure": {"bench": bench},
}
"""The commands, grouped by what a person wants to do."""


class UserError(Exception):
    """What a user did: told in one line, without a traceback."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; the exit code."""
    code = _run(sys.argv[1:] if args is None else list(args))
    if code == STOPPED and args is None and "jax" in sys.modules:
        # At once: JAX may crash where the interpreter ends in the middle of its work.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


STOPPED = 130
"""The exit code of what was asked to stop."""


def _run(args: list[str]) -> int:
    if "" not in sys.path:  # So that module:Id finds a module beside the user.
        sys.path.insert(0, "")
    commands = {name: run for group in COMMANDS.values() for name, run in group.items()}
    try:
        if not args or args[0] in ("-h", "--help"):
            print(_help())
            return 0 if args else 2
        if args[0] == "--version":
            from hyperaction import __version__

            print(f"hyperaction {__version__}")
            return 0
        if args[0] not in commands:
            raise UserError(_unknown("command", args[0], list(commands)))
        commands[args[0]](args[1:])
    except BrokenPipeError:  # Whoever read the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        print(f"hyperaction: there is not enough memory: {error}", file=sys.stderr)
        return 1
    except UserError as error:
        print(f"hyperaction: {error}", file=sys.stderr)
        return error.code
    except (ValueError, RuntimeError, OSError) as error:
        print(f"hyperaction: {error}", file=sys.stderr)
        return 2 if isinstance(error, ArgumentError) else 1
    except KeyboardInterrupt:
        print("hyperaction: stopped", file=sys.stderr)
        return STOPPED
    return 0


def _help() -> str:
    lines = ["usage: hyperaction COMMAND [OPTIONS]", "", DESCRIPTION]
    for group, commands in COMMANDS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<12}{(run.__doc__ or '').strip()}" for name, run in commands.items()]
    lines += ["", "hyperaction COMMAND --help explains a command's options."]
    lines += ["hyperaction --version tells the version."]
    return "\n".join(lines)


def _unknown(kind: str, name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(names)}"
    return f"no {kind} is called '{name}'; {hint} (hyperaction --help)"


def _progress(console: Any, *more: str) -> Any:
    """A bar with the time left; nothing but the end where the output is not a terminal."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("spent"),
        TimeElapsedColumn(),
        *(TextColumn(text) for text in more),
        console=console,
        speed_estimate_period=300,
    )


def _need(module: str, *, extra: str, unless: str = "") -> None:
    if find_spec(module) is None:
        otherwise = f" (or {unless})" if unless else ""
        raise UserError(f"this needs {module}: pip install 'hyperaction[{extra}]'{otherwise}")
