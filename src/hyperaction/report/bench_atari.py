"""The Atari benchmark in words."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from hyperaction.report.train import beside_peers

PARTS = ("emulator", "preprocessing", "acting", "sampling", "update", "rest")


def split_table(found: dict[str, Any]) -> Table:
    """Where the time of a step goes, for each agent."""
    split = found["split"]
    table = Table(title=f"One step in {found['game']}: where the time goes")
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


def sentences(found: dict[str, Any]) -> list[str]:
    """What the benchmark found besides."""
    memory = (
        f"A million frames take {found['replay_gigabytes']:.2f} GB, the rest of a run "
        f"{found['other_gigabytes']:.2f} GB."
    )
    return [memory, *beside_peers(found["peers"], "with the peers' network, as dqn")]
