"""The benchmark of PyTorch's path: its table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from hyperaction.bench.report import kernels_in_use, kernels_sentence
from hyperaction.bench.settings import BenchTorch
from hyperaction.bench.torch import Row, run
from hyperaction.runs.files import write_json


def main(settings: BenchTorch, console: Console) -> None:
    """Runs the benchmark and shows its results."""
    settings.out.mkdir(parents=True, exist_ok=True)
    with console.status("measuring") as status:
        rows = run(settings, lambda what: status.update(f"measuring: {what}"))
    in_use = kernels_in_use()
    file = write_json(settings.out / "torch.json", {"rows": rows, "kernels": in_use})
    console.print(table(rows, settings.states))
    console.print(kernels_sentence(in_use), highlight=False)
    console.print(f"Written: {file}", soft_wrap=True)


def table(rows: list[Row], states: int) -> Table:
    """Times of PyTorch's path relative to JAX's."""
    grid = Table(title="PyTorch in times of JAX, on one core", title_justify="left")
    grid.add_column("case", no_wrap=True)
    headings = ("us", f"maximum of {states}", "maximum of 1", f"update of {states}")
    for heading in headings:
        grid.add_column(heading, justify="right")
    for row in rows:
        ratios = [f"{row[name]:.2f}" for name in ("maximum", "maximum of one", "update")]
        grid.add_row(row["case"], f"{row['microseconds']:.0f}", *ratios)
    return grid
