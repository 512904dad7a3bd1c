"""What the commands take that look at runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class EvaluateOptions:
    """Play a run's trained agent, almost greedily, as its evaluations did."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The directory of the run."""
    episodes: int = 10
    """Episodes to play."""
    seed: int = 0
    """Where the environment's and the policy's random numbers come from."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise ValueError(f"--episodes {self.episodes} is below 1")
        if self.seed < 0:
            raise ValueError(f"--seed {self.seed} is below 0")


@dataclass(frozen=True)
class CompareOptions:
    """Print and draw runs beside the curves that the paper's authors published."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR ...")]
    """The directories of the runs."""
    rows: int = 12
    """Rows of the printed tables, at most."""
    out: Path = Path("results/compare.png")
    """The drawing's file."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("no run is named")
        if self.rows < 1:
            raise ValueError(f"--rows {self.rows} is below 1")


@dataclass(frozen=True)
class TableOptions:
    """Sum up runs over seeds: mean, median, interquartile mean, with 95% bootstrap intervals.

    A run's score is the mean return of its last evaluations. Over all environments, scores go from
    0, the lowest of any run in an environment, to 1, the highest.
    """

    folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR ...")]
    """Directories that hold runs, at any depth."""
    last: int = 10
    """Evaluations that count."""
    at: int = 0
    """Only evaluations up to this step count; 0 is all."""
    format: Literal["text", "csv", "markdown"] = "text"
    """A table for the terminal, for other programs, or for a page."""

    def __post_init__(self) -> None:
        if not self.folders:
            raise ValueError("no directory is named")
        if self.last < 1:
            raise ValueError(f"--last {self.last} is below 1")
        if self.at < 0:
            raise ValueError(f"--at {self.at} is below 0")


@dataclass(frozen=True)
class ExplainOptions:
    """Find which joint actions matter: run greedy policies and look into their hyperedges.

    Several agents are looked at together, as in the paper's figure 7; their hyperedges must be the
    same. Shares of the variance are those of the canonical form, in which every set of vertices
    holds only what no smaller one can express.
    """

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR ...")]
    """The directories of the runs."""
    steps: int = 10_000
    """Steps of every agent's greedy policy."""
    weights: Literal["even", "policy"] = "even"
    """Let all sub-actions weigh the same in the canonical form, or as often as they are taken."""
    rows: int = 15
    """Rows of the printed table, at most."""
    seed: int = 0
    """Where the environment's random numbers come from."""
    out: Path = Path("results/explain")
    """The directory for explain.json and explain.png."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("no run is named")
        for option in ("steps", "rows"):
            if getattr(self, option) < 1:
                raise ValueError(f"--{option} {getattr(self, option)} is below 1")
        if self.seed < 0:
            raise ValueError(f"--seed {self.seed} is below 0")


@dataclass(frozen=True)
class AtariFiguresOptions:
    """Draw the published results of 29 Atari games (figures 4, 5 and 8), and runs beside them.

    The relative score is HGQN's gain over DQN, both averaged over their learning curves, where a
    random agent has 0 and a human player, or DQN where it is better, 1.
    """

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="[DIR ...]")] = ()
    """The directories of runs, whose games are drawn as far as the runs go."""
    published: bool = False
    """Draw all 29 games."""
    out: Path = Path("results/atari-figures")
    """The directory for the drawings and atari.json."""

    def __post_init__(self) -> None:
        if not self.runs and not self.published:
            raise ValueError("nothing to draw: give --published, the directories of runs, or both")


@dataclass(frozen=True)
class VideoOptions:
    """Film a run's agent: the episode as rendered, beside it what the agent thinks."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The directory of the run."""
    episodes: int = 1
    """Episodes to film."""
    steps: int = 0
    """The most steps to film; 0 is whole episodes."""
    fps: float = 0.0
    """Steps per second of the film; 0 is what the environment says."""
    seed: int = 0
    """Where the environment's random numbers come from."""
    out: Path = Path("results/video.mp4")
    """The film's file, .mp4 or .gif."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise ValueError(f"--episodes {self.episodes} is below 1")
        for option in ("steps", "seed"):
            if getattr(self, option) < 0:
                raise ValueError(f"--{option} {getattr(self, option)} is below 0")
        if self.fps and not 0.1 <= self.fps <= 1000:
            raise ValueError(f"--fps {self.fps} is not in 0.1 to 1000")
        if self.out.suffix not in (".mp4", ".gif"):
            raise ValueError(f"--out {self.out} is neither .mp4 nor .gif")


@dataclass(frozen=True)
class ReportOptions:
    """Write one page about runs, for any browser, without a network.

    It shows too what `hyperaction explain RUN --out RUN/explain` found, and films in the
    directories of the runs.
    """

    folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR ...")]
    """Directories that hold runs, at any depth."""
    last: int = 10
    """Evaluations that count in a run's score."""
    embed: bool = False
    """Put films into the page, instead of links to them."""
    out: Path = Path("results/report.html")
    """The page's file."""

    def __post_init__(self) -> None:
        _check_folders(self.folders, self.last)


@dataclass(frozen=True)
class WatchOptions:
    """Serve the page about runs to this machine alone, and keep it new while they train."""

    folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR ...")]
    """Directories that hold runs, at any depth."""
    last: int = 10
    """Evaluations that count in a run's score."""
    port: int = 8642
    """Where it is served; 0 is any port that is free."""

    def __post_init__(self) -> None:
        _check_folders(self.folders, self.last)
        if not 0 <= self.port < 65536:
            raise ValueError(f"--port {self.port} is not in 0 to 65535")


def _check_folders(folders: tuple[Path, ...], last: int) -> None:
    if not folders:
        raise ValueError("no directory is named")
    for folder in folders:
        if "://" not in str(folder).replace(":/", "://") and not folder.is_dir():
            raise ValueError(f"there is no directory {folder}")
    if last < 1:
        raise ValueError(f"--last {last} is below 1")
