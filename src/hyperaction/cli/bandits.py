"""The command bandits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hyperaction.cli.terminal import STOPPED, UserError, need, progress_bar
from hyperaction.parsing import parse


def bandits(args: Sequence[str]) -> None:
    """Compare action hypergraph networks with a table on bandits (section 4)."""
    from hyperaction.studies.bandits.settings import BanditStudy

    study = parse(BanditStudy, "bandits", args)
    need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.report import bandits as report
    from hyperaction.studies.bandits import files
    from hyperaction.studies.bandits.study import run

    console = Console(markup=False)
    try:
        with progress_bar(console) as bar:
            total = sum(cell.cost * study.iterations for cell in study.cells)
            task = bar.add_task("training", total=total)
            work: dict[Any, float] = {}

            def progress(cell: Any, iterations: int) -> None:
                work[cell] = cell.cost * iterations
                bar.update(task, completed=sum(work.values()))

            by_cell, scales = run(study, progress)
    except KeyboardInterrupt:
        raise UserError("stopped; run the same command to continue", code=STOPPED) from None
    errors: report.Errors = {(cell.size, cell.model): table for cell, table in by_cell.items()}
    settings = {"trials": study.trials, "iterations": study.iterations, "seed": study.seed}
    summary = report.summary(settings, errors, scales)
    written = [
        files.write_csv(study, by_cell),
        files.write_json(study.out / "summary.json", summary),
        *report.draw(errors, scales, study.out),
    ]
    console.print(report.table(errors))
    for finding in report.findings(errors, scales):
        verdict = {True: "holds", False: "does not hold", None: "cannot be told"}[finding.holds]
        console.print(f"{finding.claim}: {verdict} ({finding.evidence})")
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)
