"""The command atari-figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import check_any, need


@dataclass(frozen=True)
class AtariFiguresOptions:
    """Draw the published results of 29 Atari games (figures 4, 5 and 8), and runs.

    The relative score is HGQN's gain over DQN, both averaged over their learning curves, scaled so
    that a random agent has 0 and a human player, or DQN if it is better, has 1.
    """

    runs: Annotated[tuple[Path, ...], Positional("[DIR ...]")] = ()
    """The directories of runs, whose games are drawn up to the last step of the runs."""
    published: bool = False
    """Draw all 29 games."""
    out: Path = Path("results/atari-figures")
    """The directory for the figures and atari.json."""

    def __post_init__(self) -> None:
        if not self.runs and not self.published:
            raise ValueError("nothing to draw: give --published, the directories of runs, or both")


def main(args: Sequence[str]) -> None:
    """Draws the figures."""
    options: AtariFiguresOptions = parse(AtariFiguresOptions, "atari-figures", args)
    need("matplotlib", extra="report")
    from hyperaction.studies.atari.command import read, run

    runs, notes, problems = read(options.runs)
    check_any(runs or not options.runs, "run to draw", problems)
    run(runs, notes, options.out, Console(), published=options.published)
