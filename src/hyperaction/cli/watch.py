"""The command watch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from hyperaction.arguments import Positional, parse
from hyperaction.cli.report import PageData, check_folders
from hyperaction.cli.terminal import UserError, need, print_error
from hyperaction.errors import check_ranges
from hyperaction.report.page.baselines import parsed
from hyperaction.report.page.server import LOOPBACK, PageServer
from hyperaction.report.page.videos import Video


@dataclass(frozen=True)
class WatchOptions:
    """Serve the page about runs to this machine only, and update it while they train."""

    folders: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """Directories that contain runs, at any depth."""
    last: int = 10
    """The number of evaluations in a score, at most."""
    baseline: tuple[str, ...] = ()
    """Returns to compare with, as NAME=RETURN: random=22 PPO=480; baselines.json in a directory
    has them by environment."""
    port: int = 8642
    """The port of the server; 0 takes any free port."""

    def __post_init__(self) -> None:
        check_folders(self.folders)
        check_ranges(self, last=(1, inf), port=(0, 65535))
        parsed(self.baseline)


class _Reported:
    """Reads the data of the page, and prints what is wrong with runs, each problem once."""

    def __init__(self, page: PageData) -> None:
        self.page, self._printed = page, 0

    def __call__(self) -> tuple[dict[str, Any], list[Video]]:
        found = self.page()
        for problem in self.page.problems[self._printed :]:
            print_error(f"skipped {problem}")
        self._printed = len(self.page.problems)
        return found


def main(args: Sequence[str]) -> None:
    """Serves the page until Ctrl-C."""
    options: WatchOptions = parse(WatchOptions, "watch", args)
    need("vl_convert", extra="report")
    page = PageData(options.folders, options.last, options.baseline)
    try:
        server = PageServer(options.port, _Reported(page))
    except OSError as error:
        message = f"--port {options.port}: {error.strerror} (--port 0 takes any free port)"
        raise UserError(message, code=1) from None
    with server:
        print(f"http://{LOOPBACK}:{server.server_port}/ (press Ctrl-C to stop)", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
