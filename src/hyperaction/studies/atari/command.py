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
from hyperaction.studies.atari.runs import compare_pairs, expand, read_run, score_over_games
from hyperaction.studies.atari.scores import published_score
from hyperaction.studies.runs import version_notes
from hyperaction.training.config import run_config


def run(folders: Sequence[Path], out: Path, *, published: bool) -> None:
    """Draws published results, runs or both; prints a summary and writes all numbers.

    Args:
        folders: Directories that are runs or contain runs.
        out: The directory for figures and numbers.
        published: Whether to draw all published games.
    """
    names = short_names(expand(to_read(folder) for folder in folders))
    configs = {name: run_config(path) for path, name in names.items()}
    runs = [read_run(path, name, configs[name]) for path, name in names.items()]
    panels, pairs, over_games = figures.panels(runs), compare_pairs(runs), score_over_games(runs)
    console = Console(markup=False)
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
        sentences += version_notes(configs)
    written.append(write_json(out / "atari.json", numbers))
    for sentence in sentences:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)
