"""The command report, and the data of the page, which the command watch serves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from hyperaction.arguments import Positional, parse
from hyperaction.cli.terminal import UserError, need
from hyperaction.errors import check_ranges
from hyperaction.report.page import html
from hyperaction.report.page.data import RunData, collect
from hyperaction.report.page.videos import Video, find_videos, link_videos
from hyperaction.report.tables import find_runs, short_names
from hyperaction.runs import read_metrics
from hyperaction.runs.files import check_is_no_directory, write_text
from hyperaction.runs.remote import to_read, url_of
from hyperaction.studies.runs import published_curve, read_configs, read_curve


@dataclass(frozen=True)
class ReportOptions:
    """Write one page about runs, which any browser shows without a network.

    It includes the output of `hyperaction explain RUN --out RUN/explain`, and videos in the
    directories of the runs.
    """

    folders: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """Directories that contain runs, at any depth."""
    last: int = 10
    """The number of evaluations in a score."""
    embed: bool = False
    """Embed videos in the page instead of linking to them."""
    out: Path = Path("results/report.html")
    """The file for the page."""

    def __post_init__(self) -> None:
        check_folders(self.folders)
        check_ranges(self, last=(1, inf))


def main(args: Sequence[str]) -> None:
    """Writes the page."""
    options: ReportOptions = parse(ReportOptions, "report", args)
    check_is_no_directory(options.out)
    need("vl_convert", extra="report")
    data, videos = PageData(options.folders, options.last)()
    if not data["runs"]:
        where = " ".join(str(folder) for folder in options.folders)
        raise UserError(f"no run found in {where}", code=1)
    links = link_videos(videos, options.out.parent, embed=options.embed)
    write_text(options.out, html(data, links))
    Console(markup=False).print(f"Written: {options.out}", soft_wrap=True)


def check_folders(folders: tuple[Path, ...]) -> None:
    """Raises `ValueError` unless there are directories, and all on this machine exist."""
    if not folders:
        raise ValueError("give at least one directory")
    for folder in folders:
        if url_of(folder) is None and not folder.is_dir():
            raise ValueError(f"there is no directory {folder}")


class PageData:
    """Reads the data of the page, and its videos, at every call.

    Args:
        folders: Directories that contain runs.
        last: The number of evaluations in a score.
    """

    def __init__(self, folders: Sequence[Path], last: int) -> None:
        self.folders, self.last = folders, last
        self._reported: set[str] = set()

    def __call__(self) -> tuple[dict[str, Any], list[Video]]:
        """The data and the videos; problems with runs are printed, each of them once."""
        names = short_names(find_runs([to_read(folder) for folder in self.folders]))
        runs = []
        configs, problems = read_configs(names)
        for out, config in configs.items():
            started = (out / "metrics.jsonl").exists()
            try:
                rows = (
                    [read_curve(out, config), read_metrics(out, "train")] if started else [[], []]
                )
            except ValueError as error:
                problems.append(str(error))
                continue
            runs.append(RunData(names[out], out, config, *rows))
        for problem in problems:
            if problem not in self._reported:
                self._reported.add(problem)
                print(f"hyperaction: skipped {problem}", file=sys.stderr)
        videos = find_videos([(run.name, run.out) for run in runs])
        return collect(runs, published_curve, self.last), videos
