"""The command table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import UserError, check_any
from hyperaction.errors import check_ranges, unknown
from hyperaction.report import pairs, tables
from hyperaction.report.runs import RunData, agent_labels, find_runs
from hyperaction.runs.remote import to_read
from hyperaction.studies.runs import read_runs


@dataclass(frozen=True)
class TableOptions:
    """Summarise runs over seeds: mean, median, interquartile mean, with 95% bootstrap intervals.

    The score of a run is the mean return of its last evaluations, but of no more than the last half
    of them. Overall scores are scaled from 0, the lowest of any run in an environment, to 1, the
    highest.
    """

    folders: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """Directories that contain runs, at any depth."""
    last: int = 10
    """The number of evaluations in a score, at most."""
    at: int = 0
    """Use only evaluations up to this step; 0 uses all."""
    against: str = ""
    """The name of an agent to compare all others with, seed by seed."""
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
    runs, problems = read_runs({run: str(run) for run in find_runs(folders)})
    labels = agent_labels({run.out: run.config for run in runs})
    if options.against:
        print_pairs(options, runs, labels, problems)
        return
    results = []
    for run in runs:
        try:
            score = tables.score(run.evaluations, options.last, options.at)
        except ValueError as error:
            problems.append(f"{run.out}: {error}")
            continue
        results.append(tables.Result(run.config["env"], labels[run.out], run.config["seed"], score))
    where = " ".join(str(folder) for folder in options.folders)
    check_any(results, f"run with an evaluation found in {where}", problems)
    lines = tables.summary_lines(results)
    if options.format != "text":
        write = {"csv": tables.as_csv, "markdown": tables.as_markdown}[options.format]
        print(write(lines), end="")
        return
    console = Console()
    for table in tables.as_text(lines):
        console.print(table)
    console.print(tables.legend(results, options.last), highlight=False)


def print_pairs(
    options: TableOptions, runs: Sequence[RunData], labels: Mapping[Path, str], problems: list[str]
) -> None:
    """Prints every agent beside the one that it is compared with."""
    names = sorted(set(labels.values()))
    if options.against not in names:
        raise UserError(f"--against: {unknown('agent', options.against, names)}")
    baseline = {key(run): run for run in runs if labels[run.out] == options.against}
    found: dict[str, list[pairs.Pair]] = {}
    for run in runs:
        other = baseline.get(key(run))
        if labels[run.out] == options.against or other is None:
            continue
        try:
            one, two = run.up_to(options.at), other.up_to(options.at)
            found.setdefault(labels[run.out], []).append(pairs.pair(one, two, options.last))
        except ValueError as error:
            problems.append(str(error))
    check_any(found, f"run with the environment and seed of one of {options.against}", problems)
    lines = pairs.compare(found)
    if options.format != "text":
        write = {"csv": pairs.as_csv, "markdown": pairs.as_markdown}[options.format]
        print(write(lines), end="")
        return
    console = Console()
    for table in pairs.as_text(lines, options.against):
        console.print(table)
    console.print(pairs.LEGEND, highlight=False)


def key(run: RunData) -> tuple[str, int]:
    """What the two runs of a pair have in common."""
    return run.config["env"], run.config["seed"]
