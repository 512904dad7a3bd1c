"""The command compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console

from hyperaction.arguments import Positional, parse
from hyperaction.cli.terminal import UserError, need
from hyperaction.errors import check_ranges
from hyperaction.report import curves
from hyperaction.report.tables import short_names
from hyperaction.runs.files import check_is_no_directory
from hyperaction.runs.remote import to_read
from hyperaction.studies.runs import published_curve, read_curve, version_notes
from hyperaction.training.config import run_config


@dataclass(frozen=True)
class CompareOptions:
    """Print and draw runs together with the curves that the paper's authors published."""

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

    pairs, configs = [], {}
    for given, name in short_names(options.runs).items():
        run = to_read(given)
        configs[name] = config = run_config(run)
        rows = read_curve(run, config)
        if not rows:
            raise UserError(f"{run} has no result yet", code=1)
        steps, returns = (np.array([row[key] for row in rows]) for key in ("step", "return"))
        pairs.append((curves.Curve(name, config["env"], steps, returns), published_curve(config)))
    console = Console(markup=False)
    groups = curves.group_curves(pairs)
    for group in groups:
        console.print(curves.table(group, options.rows))
        for curve in group.curves:
            if group.published is not None:
                console.print(curves.sentence(curve, group.published), highlight=False)
    for note in version_notes(configs):
        console.print(note, highlight=False)
    console.print(f"Written: {draw_curves(groups, options.out)}", soft_wrap=True)
