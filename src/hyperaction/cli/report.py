"""The command report, and the data of the page, which the command watch serves."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from hyperaction.arguments import Positional, parse
from hyperaction.baselines import BASELINES
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import check_any, need
from hyperaction.envs.ids import names_code
from hyperaction.errors import check_ranges
from hyperaction.report.page import html
from hyperaction.report.page.baselines import parsed
from hyperaction.report.page.data import collect
from hyperaction.report.page.videos import Video, find_videos, link_videos
from hyperaction.report.runs import RunData, find_runs, short_names
from hyperaction.runs.files import check_is_no_directory, write_text
from hyperaction.runs.remote import to_read, url_of
from hyperaction.studies.runs import published_results, read_runs
from hyperaction.training.command_line import train_command


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
    baseline: tuple[str, ...] = ()
    """Returns to compare with, as NAME=RETURN: random=22 PPO=480; baselines.json in a directory
    has them by environment."""
    out: Path = Path("results/report.html")
    """The file for the page."""

    def __post_init__(self) -> None:
        check_folders(self.folders)
        check_ranges(self, last=(1, inf))
        parsed(self.baseline)


def main(args: Sequence[str]) -> None:
    """Writes the page."""
    options: ReportOptions = parse(ReportOptions, "report", args)
    check_is_no_directory(options.out)
    need("vl_convert", extra="report")
    page = PageData(options.folders, options.last, options.baseline)
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
        baseline: What to compare with, as NAME=RETURN.
    """

    def __init__(self, folders: Sequence[Path], last: int, baseline: Sequence[str] = ()) -> None:
        self.folders, self.last, self.baselines = folders, last, parsed(baseline)
        self.problems: list[str] = []
        """What was wrong with runs so far."""

    def __call__(self) -> tuple[dict[str, Any], list[Video]]:
        """The data and the videos."""
        folders = [to_read(each) for each in self.folders]
        runs, unread = read_runs(short_names(find_runs(folders)))
        local = [each for each in self.folders if url_of(each) is None]
        data, problems = collect(
            runs,
            published_results,
            self.last,
            lambda run: _commands(run, local),
            self.baselines,
            [folder.resolve() for folder in folders],
        )
        self.problems += [each for each in unread + problems if each not in self.problems]
        return data, find_videos([(run.name, run.out) for run in runs])


def _commands(run: RunData, folders: Sequence[Path]) -> dict[str, str]:
    """The commands about a run on this machine, as they are typed in the current directory."""
    is_here = any(run.out.is_relative_to(folder.resolve()) for folder in folders)
    if not is_here or run.config["agent"] in BASELINES:
        return {}
    here = Path.cwd()
    out = run.out.relative_to(here) if run.out.is_relative_to(here) else run.out
    name, trust = shlex.quote(str(out)), " --trust" if names_code(run.config["env"]) else ""
    train = train_command(run.config)
    start = {"Train (the same command resumes)": f"{train} --out {name}"} if train else {}
    return start | {
        "Evaluate": f"hyperaction evaluate {name}{trust}",
        "Explain which joint actions matter": f"hyperaction explain {name}{trust} "
        f"--out {shlex.quote(str(out / 'explain'))}",
        "Record a video": f"hyperaction video {name}{trust} "
        f"--out {shlex.quote(str(out / 'video.mp4'))}",
    }
