"""The command `hyperaction`: one thin function per verb. Nothing heavy is imported before work."""

from __future__ import annotations

import difflib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, redirect_stderr
from importlib.util import find_spec
from io import StringIO
from typing import Any

DESCRIPTION = """\
Value-based reinforcement learning where an action has several dimensions:
action hypergraph networks and hypergraph Q-networks."""


def train(args: Sequence[str]) -> None:
    """Train an agent on a Gymnasium environment."""
    from hyperaction.options import defaults

    options_type, default = defaults(list(args))
    options = _parse(options_type, "train", args, default=default)
    from rich.console import Console

    from hyperaction.environments.faults import EnvironmentFaultError
    from hyperaction.running import Prepared, StoppedError, Watchdog
    from hyperaction.runs import Run

    def late(doing: str) -> Exception:
        limit = f"{options.env_timeout:g} s (--env-timeout)"
        return EnvironmentFaultError(f"the environment's {doing} took more than {limit}")

    console = Console()
    with ExitStack() as held:
        watchdog = held.enter_context(Watchdog(options.env_timeout, late))
        prepared = Prepared(options, watchdog)
        console.print(_about(options.env, prepared.agent), highlight=False)
        settings = {"fresh": options.fresh, "tensorboard": options.tensorboard}
        run = held.enter_context(Run(options.out, options.config(), **settings))
        bar = held.enter_context(_progress(console, "{task.fields[more]}"))
        task = bar.add_task("training", total=options.steps, more="")
        started = time.monotonic()
        first: int | None = None

        def progress(step: int, last: float | None) -> None:
            nonlocal started, first
            if first is None:
                started, first = time.monotonic(), step
            speed = f"{(step - first) / max(time.monotonic() - started, 1e-9):.0f} steps/s"
            more = speed if last is None else f"{speed}, last return {last:.1f}"
            bar.update(task, completed=min(step, options.steps), more=more)

        try:
            prepared.train(run, progress, lambda news: console.print(news, highlight=False))
        except StoppedError as stop:
            raise UserError(f"{stop}; the same command goes on from there", code=130) from None
        except KeyboardInterrupt:
            raise UserError(
                "stopped at once; the same command goes on from the last checkpoint", code=130
            ) from None
    console.print(f"Written: {options.out / 'metrics.jsonl'}", soft_wrap=True, markup=False)
    console.print(f"Play it: hyperaction evaluate {options.out}", soft_wrap=True, markup=False)


def _about(env: str, agent: Any) -> str:
    if hasattr(agent, "hypergraph"):
        return f"{env}: {agent.hypergraph}"
    return f"{env}: {agent.action_length} real numbers per action"


def evaluate(args: Sequence[str]) -> None:
    """Play a run's trained agent."""
    from hyperaction.options import EvaluateOptions

    options = _parse(EvaluateOptions, "evaluate", args)
    from rich.console import Console

    from hyperaction.running import play

    console = Console()
    count = 0

    def told(episode: Any) -> None:
        nonlocal count
        if not count:
            console.print("  episode     return    length")
        count += 1
        console.print(f"{count:>9} {episode.total:>10.1f} {episode.length:>9}", highlight=False)

    totals = [episode.total for episode in play(options.run, options.episodes, options.seed, told)]
    mean = sum(totals) / len(totals)
    console.print(f"     mean {mean:>10.1f}    from {min(totals):.1f} to {max(totals):.1f}")


def compare(args: Sequence[str]) -> None:
    """Set runs beside the curves that the paper's authors published."""
    from hyperaction.options import CompareOptions

    options = _parse(CompareOptions, "compare", args)
    _need("matplotlib", extra="report")
    import numpy as np
    from rich.console import Console

    from hyperaction.report import compare as report
    from hyperaction.runs import read_config, read_metrics
    from hyperaction.studies.physical import published

    curves = []
    for out in options.runs:
        config, rows = read_config(out), read_metrics(out, "eval")
        if not rows:
            raise UserError(f"{out} has no evaluation yet", code=1)
        steps, returns = (np.array([row[key] for row in rows]) for key in ("step", "return"))
        curve = report.Curve(out.resolve().name, config["env"], steps, returns)
        curves.append((curve, published(config)))
    console = Console()
    groups = report.grouped(curves)
    for group in groups:
        console.print(report.table(group, options.rows))
        for curve in group.curves:
            if group.published is not None:
                console.print(report.sentence(curve, group.published), highlight=False)
    console.print(f"Written: {report.draw(groups, options.out)}", soft_wrap=True, markup=False)


def bandits(args: Sequence[str]) -> None:
    """Compare action hypergraph networks with a table on bandits (section 4)."""
    from hyperaction.studies.bandits.settings import BanditStudy

    study = _parse(BanditStudy, "bandits", args)
    _need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.report import bandits as report
    from hyperaction.studies.bandits import files
    from hyperaction.studies.bandits.study import run

    console = Console()
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
        raise UserError("stopped; run the same command to continue", code=130) from None
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
        console.print(f"{finding.claim}: [bold]{verdict}[/bold] ({finding.evidence})")
    console.print(
        "Written: " + " ".join(str(file) for file in written), soft_wrap=True, markup=False
    )


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

    settings = _parse(BenchMaximise, "bench maximise", args)
    _need("matplotlib", extra="report")
    if settings.peer_states:
        _need("pytoulbar2", extra="peers", unless="--peer-states 0")
    settings.out.mkdir(parents=True, exist_ok=True)
    _one_core()
    from rich.console import Console

    from hyperaction.bench.maximise import run
    from hyperaction.report import maximise as report

    console = Console()
    with console.status("measuring") as status:
        rows = run(settings, lambda what: status.update(f"measuring: {what}"))
    file = settings.out / "maximise.json"
    file.write_text(json.dumps(rows, indent=2) + "\n")
    figure = report.draw_growth(rows["growth"], settings.out)
    console.print(report.exact_table(rows["exact"]))
    console.print(report.large_table(rows["large"]))
    console.print(f"Written: {file} {figure}", soft_wrap=True, markup=False)


def _bench_train(args: Sequence[str]) -> None:
    from hyperaction.bench.settings import BenchTrain

    settings = _parse(BenchTrain, "bench train", args)
    _need("pybullet_envs_gymnasium", extra="physical")
    settings.out.mkdir(parents=True, exist_ok=True)
    _one_core()
    from rich.console import Console

    from hyperaction.bench.train import run
    from hyperaction.report import train as report

    console = Console()
    with console.status("measuring") as status:
        found = run(settings, lambda what: status.update(f"measuring: {what}"))
    file = settings.out / "train.json"
    file.write_text(json.dumps(found, indent=2) + "\n")
    console.print(report.split_table(found))
    for sentence in report.sentences(found):
        console.print(sentence, highlight=False)
    console.print(f"Written: {file}", soft_wrap=True, markup=False)


def _one_core() -> None:
    if hasattr(os, "sched_setaffinity"):  # Before JAX counts the cores.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


COMMANDS: dict[str, dict[str, Callable[[Sequence[str]], None]]] = {
    "Train": {"train": train, "evaluate": evaluate, "compare": compare},
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
    args = sys.argv[1:] if args is None else list(args)
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
    except (UserError, ValueError, RuntimeError, OSError) as error:
        print(f"hyperaction: {error}", file=sys.stderr)
        return error.code if isinstance(error, UserError) else 1
    except KeyboardInterrupt:
        print("hyperaction: stopped", file=sys.stderr)
        return 130
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


def _parse(settings: type[Any], command: str, args: Sequence[str], default: Any = None) -> Any:
    """The settings that the arguments spell; a mistake is told in one line."""
    import tyro

    said = StringIO()
    try:
        with redirect_stderr(said):
            given = {} if default is None else {"default": default}
            return tyro.cli(settings, prog=f"hyperaction {command}", args=args, **given)
    except SystemExit as stop:
        if not stop.code:
            raise
        told = _told(said.getvalue()).removeprefix(f"Error parsing {settings.__name__}: ")
        raise UserError(f"{told} (hyperaction {command} --help)") from None


def _told(box: str) -> str:
    """The one line that matters of tyro's framed message, with its first suggestion."""
    sections: list[list[str]] = [[]]
    for line in box.splitlines():
        text = line.strip("│| \n")
        if line.startswith(("╭", "╰", "+")) or not text:
            continue
        if set(text) <= set("─-"):
            sections.append([])
        else:
            sections[-1].append(text)
    problem = " ".join(sections[0]).removesuffix(".")
    suggestions = [section[1] for section in sections if section[0].startswith("Perhaps")]
    hint = f"; did you mean {suggestions[0].split()[0]}?" if suggestions else ""
    return f"{problem}{hint}"


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
