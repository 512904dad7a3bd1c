"""What `hyperaction atari-figures` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from hyperaction.report.runs import short_names
from hyperaction.runs.files import write_json
from hyperaction.runs.remote import to_read
from hyperaction.studies.atari import figures, report
from hyperaction.studies.atari.published import GAMES, seed_scores
from hyperaction.studies.atari.runs import (
    GameRun,
    compare_pairs,
    expand,
    game_run,
    score_over_games,
)
from hyperaction.studies.atari.scores import published_score
from hyperaction.studies.runs import read_runs, version_notes


def read(folders: Sequence[Path]) -> tuple[list[GameRun], list[str], list[str]]:
    """The runs of games in directories, notes on them, and why others are left out."""
    read, problems = read_runs(short_names(expand(to_read(folder) for folder in folders)))
    runs, configs = [], {}
    for each in read:
        try:
            runs.append(game_run(each))
            configs[each.name] = each.config
        except ValueError as error:
            problems.append(str(error))
    return runs, version_notes(configs), problems


def run(
    runs: Sequence[GameRun], notes: Sequence[str], out: Path, console: Console, *, published: bool
) -> None:
    """Draws published results, runs or both; prints a summary and writes all numbers.

    Args:
        runs: The runs.
        notes: What to say about them.
        out: The directory for figures and numbers.
        console: Where to print.
        published: Whether to draw all published games.
    """
    panels, pairs, over_games = figures.panels(runs), compare_pairs(runs), score_over_games(runs)
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {}
    sentences: list[str] = []
    written = []
    if published:
        scores, seeds = [published_score(game) for game in GAMES], seed_scores()
        written += [
            figures.draw_bars(scores, pairs, out / "atari-bars.png"),
            figures.draw_over_games(seeds, over_games, out / "atari-median-mean.png"),
            figures.draw_panels(panels, out / "atari-curves.png", columns=5),
        ]
        numbers |= report.published_numbers(scores, seeds)
        console.print(report.table(scores))
        sentences += report.published_sentences(scores, seeds)
    if runs:
        played = [panel for panel in panels if panel.runs]
        written.append(figures.draw_panels(played, out / "atari-runs.png", columns=3, zoom=True))
        numbers |= report.run_numbers(runs, pairs, over_games)
        sentences += [report.run_sentence(each) for each in runs]
        sentences += [report.versus_sentence(pair) for pair in pairs]
        sentences += [report.over_games_sentence(scores) for scores in over_games]
        sentences += notes
    written.append(write_json(out / "atari.json", numbers))
    for sentence in sentences:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)
