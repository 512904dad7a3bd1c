"""The command table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console

from hyperaction.arguments import Positional, parse
from hyperaction.cli.terminal import UserError
from hyperaction.errors import check_ranges
from hyperaction.report import tables
from hyperaction.runs.remote import to_read
from hyperaction.studies.runs import read_configs, read_curve


@dataclass(frozen=True)
class TableOptions:
    """Summarise runs over seeds: mean, median, interquartile mean, with 95% bootstrap intervals.

    The score of a run is the mean return of its last evaluations. Overall scores are scaled from 0,
    the lowest of any run in an environment, to 1, the highest.
    """

    folders: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """Directories that contain runs, at any depth."""
    last: int = 10
    """The number of evaluations in a score."""
    at: int = 0
    """Use only evaluations up to this step; 0 uses all."""
    format: Literal["text", "csv", "markdown"] = "text"
    """The format of the table."""

    def __post_init__(self) -> None:
        if not self.folders:
            raise ValueError("give at least one directory")
        check_ranges(self, last=(1, inf), at=(0, inf))


def main(args: Sequence[str]) -> None:
    """Prints the statistics of the runs in directories."""
    options: TableOptions = parse(TableOptions, "table", args)
    folders = [to_read(folder) for folder in options.folders]
    configs, problems = read_configs(tables.find_runs(folders))
    labels = tables.agent_labels(configs)
    results = []
    for run, config in configs.items():
        try:
            curve = read_curve(run, config) if (run / "metrics.jsonl").exists() else []
            score = tables.score(curve, options.last, options.at)
            results.append(tables.Result(config["env"], labels[run], *score))
        except ValueError as error:
            problems.append(f"{run}: {error}")
    if not results:
        where = " ".join(str(folder) for folder in options.folders)
        raise UserError(f"no run with an evaluation found in {where}", code=1)
    for problem in problems:
        print(f"hyperaction: skipped {problem}", file=sys.stderr)
    lines = tables.summary_lines(results)
    if options.format != "text":
        write = {"csv": tables.as_csv, "markdown": tables.as_markdown}[options.format]
        print(write(lines), end="")
        return
    console = Console(markup=False)
    for table in tables.as_text(lines):
        console.print(table)
    console.print(tables.legend(results, options.last), highlight=False)
