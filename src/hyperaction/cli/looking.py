"""The commands compare, table, explain and video."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from itertools import islice

from hyperaction.cli.runs import other_versions, read_curve, readable_configs
from hyperaction.cli.terminal import UserError, need, progress_bar
from hyperaction.parsing import parse


def compare(args: Sequence[str]) -> None:
    """Set runs beside the curves that the paper's authors published."""
    from hyperaction.options import CompareOptions, run_config

    options = parse(CompareOptions, "compare", args)
    need("matplotlib", extra="report")
    import numpy as np
    from rich.console import Console

    from hyperaction.report import compare as report
    from hyperaction.runs.remote import to_read
    from hyperaction.studies import published

    curves, configs = [], {}
    for given in options.runs:
        out = to_read(given)
        config = run_config(out)
        rows = read_curve(out, config)
        if not rows:
            raise UserError(f"{out} has no result yet", code=1)
        steps, returns = (np.array([row[key] for row in rows]) for key in ("step", "return"))
        curve = report.Curve(given.resolve().name, config["env"], steps, returns)
        curves.append((curve, published(config)))
        configs[curve.name] = config
    console = Console(markup=False)
    groups = report.grouped(curves)
    for group in groups:
        console.print(report.table(group, options.rows))
        for curve in group.curves:
            if group.published is not None:
                console.print(report.sentence(curve, group.published), highlight=False)
    for other in other_versions(configs):
        console.print(other, highlight=False)
    console.print(f"Written: {report.draw(groups, options.out)}", soft_wrap=True)


def table(args: Sequence[str]) -> None:
    """Sum up runs over seeds, per environment and overall."""
    from hyperaction.options import TableOptions

    options = parse(TableOptions, "table", args)
    from rich.console import Console

    from hyperaction.report import table as report
    from hyperaction.runs.remote import to_read

    folders = [to_read(folder) for folder in options.folders]
    configs, left_out = readable_configs(report.find_runs(folders))
    agents = report.labels(configs)
    results = []
    for out, config in configs.items():
        try:
            curve = read_curve(out, config) if (out / "metrics.jsonl").exists() else []
            scored = report.score(curve, options.last, options.at)
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


def explain(args: Sequence[str]) -> None:
    """Find which joint actions matter to trained agents."""
    from hyperaction.options import ExplainOptions

    options = parse(ExplainOptions, "explain", args)
    need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.insight.runs import explain_runs
    from hyperaction.report import explain as report
    from hyperaction.runs.arrays import write_whole
    from hyperaction.runs.remote import to_read

    console = Console(markup=False)
    options.out.mkdir(parents=True, exist_ok=True)
    bar = progress_bar(console)
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
        need(module, extra="report")
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
