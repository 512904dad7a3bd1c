"""The settings of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hyperaction.envs.ids import game_of
from hyperaction.errors import SettingError, check_ranges

MANY = 1_000_000


@dataclass(frozen=True)
class Bench:
    """What all benchmarks have in common."""

    isa: str = field(default="newest", kw_only=True)
    """The instruction set to use, such as avx2, also in XLA and PyTorch; none for no kernels."""


@dataclass(frozen=True)
class BenchMaximise(Bench):
    """Time greedy joint actions against the forward pass of the paper's network, on one core.

    Prints ratios measured in one run: the time of the maximum in forward passes, its throughput
    relative to pytoulbar2 (extra `peers`) and to the limit of the core, soft values, marginals and
    draws in times of the maximum, and how its cost grows with vertices, sub-actions, rank and
    treewidth.
    """

    cases: tuple[str, ...] = ()
    """The cases to measure, such as "Ant rank 2"; by default all."""
    states: int = 64
    """States per batch."""
    repeats: int = 15
    """Measurements of each case; the fastest counts."""
    peer_states: int = 64
    """States that pytoulbar2 solves per case; 0 skips it."""
    seed: int = 0
    """The seed of networks and observations."""
    out: Path = Path("results/bench-maximise")
    """The directory for the results."""

    def __post_init__(self) -> None:
        check_ranges(
            self, states=(1, MANY), repeats=(1, MANY), peer_states=(0, MANY), seed=(0, MANY)
        )


@dataclass(frozen=True)
class BenchAtari(Bench):
    """Time training in an Atari game against other libraries, on one core.

    Prints ratios measured in one run: HGQN relative to DQN, the breakdown of a step, steps per
    second relative to the peers that are installed (extra `peers`), and memory.
    """

    game: str = "ALE/BankHeist-v5"
    """The environment id of the game."""
    steps: int = 100
    """Environment steps per measurement; there is an update every four."""
    repeats: int = 8
    """Measurements; the fastest counts."""
    peer_steps: int = 400
    """Environment steps per measurement of a peer; 0 skips them."""
    peer_repeats: int = 2
    """Measurements of each peer; the fastest counts."""
    out: Path = Path("results/bench-atari")
    """The directory for the results."""

    def __post_init__(self) -> None:
        if not game_of(self.game):
            raise SettingError(f"`game` {self.game} is not a game such as ALE/BankHeist-v5")
        check_ranges(
            self,
            steps=(8, MANY),
            repeats=(1, MANY),
            peer_steps=(0, MANY),
            peer_repeats=(1, MANY),
        )


@dataclass(frozen=True)
class BenchDefaults(Bench):
    """Learn in environments of several kinds with no setting given, a minute or two each.

    Prints the mean return of random actions, and that of the agent's after learning.
    """

    seeds: int = 1
    """Runs in each environment."""
    scale: float = 1.0
    """How long to learn, in times of what is usual."""
    out: Path = Path("results/bench-defaults")
    """The directory for the results."""

    def __post_init__(self) -> None:
        check_ranges(self, seeds=(1, MANY), scale=(0.001, MANY))


@dataclass(frozen=True)
class BenchTorch(Bench):
    """Time PyTorch's best actions and updates against those of JAX, on one core.

    Prints ratios measured in one run: the maximum of a batch and of one state, and the loss of a
    batch with its gradients.
    """

    cases: tuple[str, ...] = ()
    """The cases to measure, such as "Ant rank 2"; by default all."""
    states: int = 64
    """States per batch."""
    repeats: int = 15
    """Measurements of each case; the fastest counts."""
    seed: int = 0
    """The seed of weights, features and outputs."""
    out: Path = Path("results/bench-torch")
    """The directory for the results."""

    def __post_init__(self) -> None:
        check_ranges(self, states=(1, MANY), repeats=(1, MANY), seed=(0, MANY))


@dataclass(frozen=True)
class BenchTrain(Bench):
    """Time training on HalfCheetah against its floor and against other libraries, on one core.

    Prints ratios measured in one run: the update relative to its matrix products and memory traffic
    alone, higher ranks relative to rank 1, the breakdown of a step, steps per second relative to
    the peers that are installed (extra `peers`), peak memory and the time to the first update.
    """

    ranks: tuple[int, ...] = (1, 2, 3)
    """Ranks to time; ratios are relative to the first."""
    steps: int = 500
    """Environment steps per measurement."""
    repeats: int = 8
    """Measurements; the fastest counts."""
    overlap_steps: int = 1_000
    """Environment steps per measurement of `overlap`, on all cores; 0 skips it."""
    peer_steps: int = 1_500
    """Environment steps per measurement of a peer; 0 skips them."""
    peer_repeats: int = 2
    """Measurements of each peer and of `overlap`; the fastest counts."""
    out: Path = Path("results/bench-train")
    """The directory for the results."""

    def __post_init__(self) -> None:
        check_ranges(
            self,
            steps=(10, MANY),
            repeats=(1, MANY),
            overlap_steps=(0, MANY),
            peer_steps=(0, MANY),
            peer_repeats=(1, MANY),
        )
        if not self.ranks or min(self.ranks) < 1 or max(self.ranks) > 6:
            raise SettingError(
                f"`ranks` {' '.join(map(str, self.ranks))}: each must be from 1 to 6"
            )
