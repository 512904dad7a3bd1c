"""The training benchmark: its table and sentences."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from hyperaction.bench.peers import OWN
from hyperaction.bench.report import compare_peers, show_breakdown
from hyperaction.bench.settings import BenchTrain
from hyperaction.bench.train import ENV, run

PARTS = ("environment", "update", "acting", "replay", "logging", "rest")


def main(settings: BenchTrain, console: Console) -> None:
    """Runs the benchmark and shows its results."""
    settings.out.mkdir(parents=True, exist_ok=True)
    show_breakdown(run, settings, "train.json", split_table, sentences, console)


def split_table(results: dict[str, Any]) -> Table:
    """The breakdown of a step by rank."""
    table = Table(title="Breakdown of one step")
    for name in ("rank", "ms", "ratio", "env", *PARTS[1:]):
        table.add_column(name, justify="right")
    base = next(iter(results["split"].values()))["milliseconds"]
    for rank, row in results["split"].items():
        shares = [f"{100 * row[part]:.1f}%" for part in PARTS]
        ratio = f"{row['milliseconds'] / base:.2f}x"
        table.add_row(rank, f"{row['milliseconds']:.2f}", ratio, *shares)
    return table


def sentences(results: dict[str, Any]) -> list[str]:
    """The other results."""
    floor = results["floor"]
    lines = [
        f"The update takes {floor['update milliseconds']:.2f} ms, "
        f"{floor['times floor']:.2f} times its floor: matrix products "
        f"{floor['products milliseconds']:.2f} ms, Adam {floor['adam milliseconds']:.2f} ms."
    ]
    for rank, start in results["starts"].items():
        lines.append(
            f"Rank {rank}: {start['seconds']:.1f} s from the command to the first update, "
            f"{start['seconds again']:.1f} s the second time, {start['gigabytes']:.2f} GB at most."
        )
    for env, speeds in results["overlap"].items():
        lines.append(
            f"Overlap in {env}: {speeds['on'] / speeds['off']:.2f} times the steps "
            f"({speeds['off']:.0f} and {speeds['on']:.0f} per second, on all cores)."
        )
    lines += compare_peers(results["peers"], "at rank 1")
    overlapped = results["overlap"].get(ENV, {}).get("on")
    if results["peers"] and overlapped:
        own = {**results["peers"], OWN: overlapped}
        lines += compare_peers(own, "at rank 1 with overlap, by the clock")
    return lines
