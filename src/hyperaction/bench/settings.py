"""What the benchmarks take from the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BenchMaximise:
    """Time greedy joint actions against the forward pass of the paper's network, on one core.

    Prints ratios measured in one run: forward passes that the maximum of 64 states takes, how many
    times the throughput of pytoulbar2 (extra `peers`) it has, how far from the core's limit it is,
    and how its cost grows with vertices, sub-actions and rank.
    """

    states: int = 64
    """States per batch."""
    repeats: int = 15
    """Times that everything is measured; the fastest counts."""
    peer_states: int = 64
    """States that pytoulbar2 solves per case; 0 leaves it out."""
    seed: int = 0
    """Where networks and observations come from."""
    out: Path = Path("results/bench-maximise")
    """The directory for the results."""

    def __post_init__(self) -> None:
        for option, value, low in (
            ("--states", self.states, 1),
            ("--repeats", self.repeats, 1),
            ("--peer-states", self.peer_states, 0),
            ("--seed", self.seed, 0),
        ):
            if not low <= value <= 1_000_000:
                raise ValueError(f"{option} {value} is not in {low} to 1000000")
