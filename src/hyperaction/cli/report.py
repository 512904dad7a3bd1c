"""The command report, and the data of the page, which the command watch serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import check_any, need
from hyperaction.errors import check_ranges
from hyperaction.report.page import html
from hyperaction.report.page.data import collect
from hyperaction.report.page.videos import Video, find_videos, link_videos
from hyperaction.report.runs import find_runs, short_names
from hyperaction.runs.files import check_is_no_directory, write_text
from hyperaction.runs.remote import to_read, url_of
from hyperaction.studies.runs import published_curve, read_runs


@dataclass(frozen=True)
class ReportOptions:
    """Write one page about runs, which any browser shows without a network.

    It includes the output of `hyperaction explain RUN --out RUN/explain`, and videos in the
    directories of the runs.
    """

    folders: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """Directories that contain runs, at any depth."""
    last: int = 10
    """The number of evaluations in a score, at most."""
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
    page = PageData(options.folders, options.last)
    data, videos = page()
    where = " ".join(str(folder) for folder in options.folders)
    check_any(data["runs"], f"run found in {where}", page.problems)
    links = link_videos(videos, options.out.parent, embed=options.embed)
    write_text(options.out, html(data, links))
    Console().print(f"Written: {options.out}", soft_wrap=True)


def check_folders(folders: tuple[Path, ...]) -> None:
    """Raises `ValueError` unless there are directories, and all on this machine exist."""
    if not folders:
        raise ValueError("give at least one directory")
    for folder in folders:
        if url_of(folder) is None and not folder.is_dir():
            raise ValueError(f"there is no directory {folder}")


class PageData:
    """Reads the data of the page, and its videos, at every call; keeps what was wrong with runs.

    Args:
        folders: Directories that contain runs.
        last: The number of evaluations in a score.
    """

    def __init__(self, folders: Sequence[Path], last: int) -> None:
        self.folders, self.last = folders, last
        self.problems: list[str] = []
        """What was wrong with runs so far."""

    def __call__(self) -> tuple[dict[str, Any], list[Video]]:
        """The data and the videos."""
        runs, unread = read_runs(short_names(find_runs([to_read(each) for each in self.folders])))
        data, problems = collect(runs, published_curve, self.last)
        self.problems += [each for each in unread + problems if each not in self.problems]
        return data, find_videos([(run.name, run.out) for run in runs])
