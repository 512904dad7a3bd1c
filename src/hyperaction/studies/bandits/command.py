"""What `hyperaction bandits` does with the errors of all models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from hyperaction.runs.files import write_json
from hyperaction.studies.bandits import files, report
from hyperaction.studies.bandits.settings import BanditStudy
from hyperaction.studies.bandits.study import Errors


def show_results(
    study: BanditStudy, by_cell: Errors, scales: dict[int, NDArray[np.float32]], console: Console
) -> None:
    """Prints and writes the results of the study.

    Args:
        study: The study.
        by_cell: The errors `[trials, iterations]` of each cell.
        scales: The RMS reward `[trials]` of each size.
        console: Where to print.
    """
    errors: report.Errors = {(cell.size, cell.model): table for cell, table in by_cell.items()}
    summary = report.summary(files.settings_of(study), errors, scales)
    written = [
        files.write_csv(study, by_cell),
        write_json(study.out / "summary.json", summary),
        *report.draw(errors, scales, study.out),
    ]
    console.print(report.table(errors))
    for finding in report.findings(errors, scales):
        verdict = {True: "holds", False: "does not hold", None: "undecided"}[finding.holds]
        console.print(f"{finding.claim}: {verdict} ({finding.evidence})")
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)
