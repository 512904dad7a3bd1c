"""The command compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import check_any, need
from hyperaction.errors import check_ranges, printable
from hyperaction.report import curves
from hyperaction.report.runs import agent_labels, preset_of, short_names
from hyperaction.runs.files import check_is_no_directory
from hyperaction.runs.remote import to_read
from hyperaction.studies.physical import peer_curve
from hyperaction.studies.runs import published_curve, read_runs, version_notes


@dataclass(frozen=True)
class CompareOptions:
    """Print and draw runs together with curves that the paper's authors and others published."""

    runs: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """The directories of the runs."""
    rows: int = 12
    """The maximum number of rows of a table."""
    out: Path = Path("results/compare.png")
    """The file for the figure."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("give at least one run")
        check_ranges(self, rows=(1, inf))


def main(args: Sequence[str]) -> None:
    """Compares runs with published curves."""
    options: CompareOptions = parse(CompareOptions, "compare", args)
    check_is_no_directory(options.out)
    need("matplotlib", extra="report")
    from hyperaction.report.figures import draw_curves

    names = {to_read(given): name for given, name in short_names(options.runs).items()}
    runs, problems = read_runs(names)
    problems += [f"{run.out}: no result yet" for run in runs if not len(run.points[0])]
    runs = [run for run in runs if len(run.points[0])]
    check_any(runs, "run to compare", problems)
    labels = agent_labels({run.out: run.config for run in runs})
    pairs = []
    for run in runs:
        label, preset = labels[run.out], preset_of(run.config)
        agent = f"{label}, {preset}" if preset and preset not in label else label
        name, env, agent = map(printable, (run.name, run.config["env"], agent))
        curve = curves.Curve(name, env, *run.points, agent)
        pairs.append((curve, published_curve(run.config)))
    console = Console()
    peers = {printable(run.config["env"]): peer_curve(run.config) for run in runs}
    groups = curves.group_curves(pairs, {env: peer for env, peer in peers.items() if peer})
    for group in groups:
        console.print(curves.table(group, options.rows))
        for curve in group.curves:
            if group.published is not None:
                console.print(curves.sentence(curve, group.published), highlight=False)
    for note in version_notes({run.name: run.config for run in runs}):
        console.print(note, highlight=False)
    console.print(f"Written: {draw_curves(groups, options.out)}", soft_wrap=True)
