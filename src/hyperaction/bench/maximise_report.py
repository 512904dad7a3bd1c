"""The maximisation benchmark: its tables and figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from hyperaction.bench.maximise import run
from hyperaction.bench.report import kernels_in_use, kernels_sentence
from hyperaction.bench.settings import BenchMaximise
from hyperaction.bench.soft import COLD, WARM
from hyperaction.report.figures import save
from hyperaction.runs.files import write_json

Rows = list[dict[str, Any]]


def main(settings: BenchMaximise, console: Console) -> None:
    """Runs the benchmark and shows its results."""
    settings.out.mkdir(parents=True, exist_ok=True)
    with console.status("measuring") as status:
        rows = run(settings, lambda what: status.update(f"measuring: {what}"))
    in_use = kernels_in_use()
    file = write_json(settings.out / "maximise.json", {**rows, "kernels": in_use})
    figure = draw_growth(rows["growth"], settings.out)
    widths = draw_width(rows["width"], settings.out)
    console.print(exact_table(rows["exact"]))
    console.print(soft_table(rows["soft"]))
    console.print(large_table(rows["large"]))
    console.print(planned_table(rows))
    console.print(kernels_sentence(in_use), highlight=False)
    console.print(f"Written: {file} {figure} {widths}", soft_wrap=True)


def exact_table(rows: Rows) -> Table:
    """Exact maxima relative to the forward pass."""
    grid = Table(title="The exact maximum of a batch, on one core", title_justify="left")
    grid.add_column("case", no_wrap=True)
    for heading in ("forward passes", "in pure JAX", "us per state", "x toulbar2", "of limit"):
        grid.add_column(heading, justify="right")
    for row in rows:
        peer, share = row.get("times pytoulbar2"), row.get("share of limit")
        grid.add_row(
            row["case"],
            f"{row['forward passes']:.2f}",
            f"{row['in pure JAX']:.2f}",
            f"{row['microseconds per state']:.2f}",
            "" if peer is None else f"{peer:.0f}",
            "" if share is None else f"{share:.0%}",
        )
    return grid


def planned_table(rows: dict[str, Rows]) -> Table:
    """What the planner reckons with beside what was measured."""
    grid = Table(title="Microseconds per state, planned and measured", title_justify="left")
    grid.add_column("case", no_wrap=True)
    for heading in ("way", "planned", "measured"):
        grid.add_column(heading, justify="right")
    for kind in ("exact", "large", "growth", "width"):
        for row in rows[kind]:
            if row["planned"] is not None:
                measured = f"{row['microseconds per state']:.3g}"
                grid.add_row(_named(row), row["way"], f"{row['planned']:.3g}", measured)
    return grid


def _named(row: dict[str, Any]) -> str:
    if "case" in row:
        return f"{row['case']}, {row['tables']}" if "tables" in row else str(row["case"])
    if "series" in row:
        return f"{row['series']}: {row['x']}"
    return f"38 x {row['sub-actions']}, width {row['width']}"


def soft_table(rows: Rows) -> Table:
    """Soft values relative to the maximum."""
    grid = Table(
        title=f"Normal outputs at temperatures {WARM:g} (warm) and {COLD:g} (cold), in maxima",
        title_justify="left",
    )
    grid.add_column("case", no_wrap=True)
    works = [
        f"{kind} {work}" for kind in ("warm", "cold") for work in ("value", "marginals", "draw")
    ]
    for work in works:
        grid.add_column(work, justify="right")
    for row in rows:
        grid.add_row(row["case"], *(f"{row[work]:.1f}" for work in works))
    return grid


def large_table(rows: Rows) -> Table:
    """Approximate ways, relative to the best known value."""
    grid = Table(
        title="Beyond elimination: states that reach the best known value, and gaps of bounds",
        title_justify="left",
    )
    for heading in ("case", "tables", "way"):
        grid.add_column(heading, no_wrap=True)
    for heading in ("passes", "us per state", "reached", "loss", "gap", "proven"):
        grid.add_column(heading, justify="right")
    for row in rows:
        grid.add_row(
            row["case"],
            row["tables"],
            row["way"],
            f"{row['forward passes']:.1f}",
            f"{row['microseconds per state']:.0f}",
            f"{row['share reached']:.1%}",
            f"{row['largest loss']:.3%}",
            "" if row["way"] == "ascent" else f"{row['mean gap']:.1%}",
            f"{row['share proven']:.0%}",
        )
    return grid


def draw_growth(rows: Rows, out: Path) -> Path:
    """The time per state by vertices, sub-actions and rank."""
    names = list(dict.fromkeys(row["series"] for row in rows))
    figure = Figure(figsize=(3.2 * len(names), 3.0), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True)
    for axis, name in zip(axes, names, strict=True):
        points = [row for row in rows if row["series"] == name]
        axis.plot(
            [row["x"] for row in points],
            [row["microseconds per state"] for row in points],
            marker="o",
            markersize=3,
            color="#08519c",
        )
        axis.set_yscale("log")
        axis.set_xlabel(name, fontsize=8)
        axis.grid(alpha=0.3, which="major")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("microseconds per state")
    return save(figure, out / "maximise-growth.png")


def draw_width(rows: Rows, out: Path) -> Path:
    """The time per state by treewidth."""
    figure = Figure(figsize=(4.2, 3.0), layout="constrained")
    axis = figure.subplots()
    series = sorted({row["sub-actions"] for row in rows})
    for size, colour in zip(series, ("#08519c", "#d94801"), strict=True):
        points = [row for row in rows if row["sub-actions"] == size]
        axis.plot(
            [row["width"] for row in points],
            [row["microseconds per state"] for row in points],
            marker="o",
            markersize=3,
            color=colour,
            label=f"{size} sub-actions",
        )
    axis.set_yscale("log")
    axis.set_xlabel("treewidth (38 vertices)", fontsize=8)
    axis.set_ylabel("microseconds per state")
    axis.grid(alpha=0.3, which="major")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return save(figure, out / "maximise-width.png")
