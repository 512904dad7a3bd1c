"""The training benchmark in words."""

from __future__ import annotations

from typing import Any

from rich.table import Table

PARTS = ("environment", "update", "acting", "replay", "logging", "rest")


def split_table(found: dict[str, Any]) -> Table:
    """Where the time of a step goes, for each rank."""
    table = Table(title="One step: where the time goes")
    for name in ("rank", "ms", "ratio", "env", *PARTS[1:]):
        table.add_column(name, justify="right")
    base = next(iter(found["split"].values()))["milliseconds"]
    for rank, row in found["split"].items():
        shares = [f"{100 * row[part]:.1f}%" for part in PARTS]
        ratio = f"{row['milliseconds'] / base:.2f}x"
        table.add_row(rank, f"{row['milliseconds']:.2f}", ratio, *shares)
    return table


def sentences(found: dict[str, Any]) -> list[str]:
    """What the benchmark found besides."""
    floor = found["floor"]
    said = [
        f"The update takes {floor['update milliseconds']:.2f} ms, "
        f"{floor['times floor']:.2f} times its floor: matrix products "
        f"{floor['products milliseconds']:.2f} ms, Adam {floor['adam milliseconds']:.2f} ms."
    ]
    for rank, start in found["starts"].items():
        said.append(
            f"Rank {rank}: {start['seconds']:.1f} s from the command to the first update, "
            f"{start['gigabytes']:.2f} GB at most."
        )
    return [*said, *beside_peers(found["peers"], "at rank 1")]


def beside_peers(peers: dict[str, float], what: str) -> list[str]:
    """How many times as fast as each peer, if any was timed."""
    speeds = dict(peers)
    if not speeds:
        return ["No peer was timed (pip install 'hyperaction[peers]' brings them; --peer-steps)."]
    own = speeds.pop("Hyperaction")
    ratios = [f"  {own / speed:.2f} times {name} ({speed:.0f})" for name, speed in speeds.items()]
    return [f"Hyperaction {what}: {own:.0f} steps/s, which is", *ratios]
