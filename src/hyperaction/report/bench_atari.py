"""The Atari benchmark in words."""

from __future__ import annotations

from typing import Any

from rich.table import Table

PARTS = ("emulator", "preprocessing", "acting", "sampling", "update", "rest")


def split_table(found: dict[str, Any]) -> Table:
    """Where the time of a step goes, for each agent."""
    table = Table(title=f"One step in {found['game']}: where the time goes")
    for name in ("agent", "ms", "ratio", *PARTS):
        table.add_column(name, justify="left" if name == "agent" else "right")
    base = next(iter(found["split"].values()))["milliseconds"]
    for agent, row in found["split"].items():
        shares = [f"{100 * row[part]:.1f}%" for part in PARTS]
        ratio = f"{row['milliseconds'] / base:.2f}x"
        table.add_row(agent, f"{row['milliseconds']:.2f}", ratio, *shares)
    return table


def sentences(found: dict[str, Any]) -> list[str]:
    """What the benchmark found besides."""
    said = [
        f"A million frames take {found['replay_gigabytes']:.2f} GB, the rest of a run "
        f"{found['other_gigabytes']:.2f} GB."
    ]
    speeds = dict(found["peers"])
    if not speeds:
        return [*said, "No peer was timed: pip install 'hyperaction[peers]' brings them."]
    own = speeds.pop("Hyperaction")
    said.append(f"Hyperaction's DQN, with the peers' network: {own:.0f} steps/s, which is")
    said += [f"  {own / speed:.2f} times {name} ({speed:.0f})" for name, speed in speeds.items()]
    return said
