"""What the benchmark of first runs prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from hyperaction.bench.defaults import FirstRun, run
from hyperaction.bench.report import kernels_in_use, kernels_sentence
from hyperaction.bench.settings import BenchDefaults
from hyperaction.runs.files import write_json


def main(settings: BenchDefaults, console: Console) -> None:
    """Learns in all environments; prints and writes what was learned."""
    with console.status("learning") as status:
        rows = run(settings, lambda what: status.update(f"learning: {what}"))
    found = kernels_in_use()
    results = {"runs": [row._asdict() for row in rows], "kernels": found}
    file = write_json(settings.out / "defaults.json", results)
    console.print(_table(rows))
    console.print(kernels_sentence(found), highlight=False)
    console.print(f"Written: {file}", soft_wrap=True)


def _table(rows: list[FirstRun]) -> Table:
    table = Table(title="First runs, no setting given", title_justify="left")
    for column, name in enumerate(("environment", "preset", "steps", "s", "random", "trained")):
        table.add_column(name, justify="right" if column > 1 else "left")
    for row in rows:
        numbers = (f"{row.random:,.1f}", f"{row.trained:,.1f}")
        table.add_row(row.env, row.preset, f"{row.steps:,}", f"{row.seconds:.0f}", *numbers)
    return table
