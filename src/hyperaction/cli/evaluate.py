"""The command evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import RunEnvironment
from hyperaction.errors import check_ranges
from hyperaction.runs.remote import to_read


@dataclass(frozen=True)
class EvaluateOptions(RunEnvironment):
    """Play the trained agent of a run, as its evaluations did: almost greedily by default."""

    run: Annotated[Path, Positional("DIR")]
    """The directory of the run, or the file of an agent."""
    episodes: int = 10
    """The number of episodes."""
    seed: int = 0
    """The seed of the environment and the policy."""

    greedy: bool = False
    """Take the best action always, without the random ones of --exploration.evaluation."""

    def __post_init__(self) -> None:
        check_ranges(self, episodes=(1, inf), seed=(0, inf))


def main(args: Sequence[str]) -> None:
    """Plays the agent of a run and prints the return of each episode."""
    options: EvaluateOptions = parse(EvaluateOptions, "evaluate", args)
    from hyperaction.analysis.rollout import play
    from hyperaction.training import compile_cache

    compile_cache.use()
    console = Console()
    count = 0

    def show(episode: Any) -> None:
        nonlocal count
        if not count:
            console.print("  episode     return    length")
        count += 1
        console.print(f"{count:>9} {episode.total:>10.1f} {episode.length:>9}", highlight=False)

    run = to_read(options.run)
    episodes = play(
        run,
        options.episodes,
        options.seed,
        show,
        env=options.env,
        trust=options.trust,
        parts=options.parts,
        greedy=options.greedy,
    )
    totals = [episode.total for episode in episodes]
    mean = sum(totals) / len(totals)
    console.print(f"     mean {mean:>10.1f}    from {min(totals):.1f} to {max(totals):.1f}")
