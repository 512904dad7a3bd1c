"""What the benchmarks take from the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hyperaction.agents.presets import usual_preset


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


@dataclass(frozen=True)
class BenchAtari:
    """Time training in an Atari game against other libraries, on one core.

    Prints ratios measured in one run: HGQN beside DQN, where the time of a step goes, steps per
    second beside peers that are installed (extra `peers`), and the memory.
    """

    game: str = "ALE/BankHeist-v5"
    """The game."""
    steps: int = 100
    """Environment steps per measurement; every fourth has an update."""
    repeats: int = 8
    """Measurements; the fastest counts."""
    peer_steps: int = 400
    """Environment steps per measurement of a peer; 0 leaves them out."""
    peer_repeats: int = 2
    """Measurements of each peer; the fastest counts."""
    out: Path = Path("results/bench-atari")
    """The directory for the results."""

    def __post_init__(self) -> None:
        if usual_preset(self.game) != "atari":
            raise ValueError(f"--game {self.game} is no game, such as ALE/BankHeist-v5")
        for option, value, low in (
            ("--steps", self.steps, 8),
            ("--repeats", self.repeats, 1),
            ("--peer-steps", self.peer_steps, 0),
            ("--peer-repeats", self.peer_repeats, 1),
        ):
            if not low <= value <= 1_000_000:
                raise ValueError(f"{option} {value} is not in {low} to 1000000")


@dataclass(frozen=True)
class BenchTrain:
    """Time training on HalfCheetah against its floor and against other libraries, on one core.

    Prints ratios measured in one run: the update beside its bare matrix products and Adam traffic,
    higher ranks beside rank 1, where the time of a step goes, steps per second beside peers that
    are installed (extra `peers`), peak memory and the time to the first update.
    """

    ranks: tuple[int, ...] = (1, 2, 3)
    """Ranks to time; the first is what others are set beside."""
    steps: int = 500
    """Environment steps per measurement."""
    repeats: int = 8
    """Measurements; the fastest counts."""
    peer_steps: int = 1_500
    """Environment steps per measurement of a peer; 0 leaves them out."""
    peer_repeats: int = 2
    """Measurements of each peer; the fastest counts."""
    out: Path = Path("results/bench-train")
    """The directory for the results."""

    def __post_init__(self) -> None:
        for option, value, low in (
            ("--steps", self.steps, 10),
            ("--repeats", self.repeats, 1),
            ("--peer-steps", self.peer_steps, 0),
            ("--peer-repeats", self.peer_repeats, 1),
        ):
            if not low <= value <= 1_000_000:
                raise ValueError(f"{option} {value} is not in {low} to 1000000")
        if not self.ranks or min(self.ranks) < 1 or max(self.ranks) > 6:
            raise ValueError(f"--ranks {' '.join(map(str, self.ranks))}: give ranks of 1 to 6")
