"""The Atari benchmark: its table and sentences."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from hyperaction.bench.atari import run
from hyperaction.bench.report import compare_peers, show_breakdown
from hyperaction.bench.settings import BenchAtari
from hyperaction.envs.make import make_env

PARTS = ("emulator", "preprocessing", "acting", "sampling", "update", "rest")


def main(settings: BenchAtari, console: Console) -> None:
    """Runs the benchmark and shows its results."""
    make_env(settings.game).close()  # Fails early if the game does not exist.
    settings.out.mkdir(parents=True, exist_ok=True)
    show_breakdown(run, settings, "atari.json", split_table, sentences, console)


def split_table(results: dict[str, Any]) -> Table:
    """The breakdown of a step by agent."""
    split = results["split"]
    table = Table(title=f"Breakdown of one step in {results['game']}")
    table.add_column("")
    for agent in split:
        table.add_column(agent, justify="right")
    for part in PARTS:
        table.add_row(part, *(f"{100 * row[part]:.1f}%" for row in split.values()))
    table.add_section()
    table.add_row("milliseconds", *(f"{row['milliseconds']:.2f}" for row in split.values()))
    base = next(iter(split.values()))["milliseconds"]
    table.add_row("ratio", *(f"{row['milliseconds'] / base:.2f}x" for row in split.values()))
    return table


def sentences(results: dict[str, Any]) -> list[str]:
    """The other results."""
    memory = (
        f"A million frames take {results['replay_gigabytes']:.2f} GB, the rest of a run "
        f"{results['other_gigabytes']:.2f} GB."
    )
    return [memory, *compare_peers(results["peers"], "with the peers' network, as dqn")]
