"""The command atari-figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperaction.cli.runs import other_versions
from hyperaction.cli.terminal import UserError, need
from hyperaction.parsing import parse

if TYPE_CHECKING:
    from hyperaction.report.atari import OverRuns, Panel, Played, Versus


def atari_figures(args: Sequence[str]) -> None:
    """Draw the published Atari results (figures 4, 5, 8), and runs beside."""
    from hyperaction.options import AtariFiguresOptions, run_config

    options = parse(AtariFiguresOptions, "atari-figures", args)
    need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.report import atari as report
    from hyperaction.report import atari_figures as figures
    from hyperaction.runs.arrays import write_whole
    from hyperaction.runs.remote import to_read
    from hyperaction.studies import atari as study

    names = _short_names([run for given in options.runs for run in _runs_in(to_read(given))])
    runs = [_played(out, name) for out, name in names.items()]
    panels, against, over = _panels(runs), _versus(runs), _over_games(runs)
    console, out = Console(markup=False), options.out
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {}
    sentences: list[str] = []
    written = []
    if options.published:
        bars = [report.Bar(*study.relative(game)) for game in study.GAMES]
        seeds = [report.Trace(*seed) for seed in study.over_games()]
        written += [
            figures.draw_bars(bars, against, out / "atari-bars.png"),
            figures.draw_over_games(seeds, over, out / "atari-median-mean.png"),
            figures.draw_panels(panels, out / "atari-curves.png", columns=5),
        ]
        numbers |= report.published_summary(bars, seeds)
        console.print(report.table(bars))
        sentences += report.sentences(bars, seeds)
    if runs:
        played = [panel for panel in panels if panel.runs]
        near = figures.draw_panels(played, out / "atari-runs.png", columns=3, near=True)
        written.append(near)
        numbers |= report.runs_summary(runs, against, over)
        sentences += [report.run_sentence(run) for run in runs]
        sentences += [report.versus_sentence(one) for one in against]
        sentences += [report.over_games_sentence(one) for one in over]
        sentences += other_versions({name: run_config(run) for run, name in names.items()})
    written.append(out / "atari.json")
    write_whole(written[-1], json.dumps(numbers, indent=2) + "\n")
    for sentence in sentences:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)


def _short_names(given: Sequence[Path]) -> dict[Path, str]:
    """Every directory by its name, and by those above it where several have the same."""
    paths = {path.resolve(): path for path in given}
    names = {}
    for whole, path in paths.items():
        others = [other.parts for other in paths if other != whole]
        depth = 1
        while any(other[-depth:] == whole.parts[-depth:] for other in others):
            depth += 1
        names[path] = "/".join(whole.parts[-depth:])
    return names


def _runs_in(folder: Path) -> list[Path]:
    """The run of a directory, or all runs in it, as a sweep has them."""
    from hyperaction.report.table import find_runs

    if (folder / "config.json").exists():
        return [folder]
    return find_runs([folder]) or [folder]


def _played(out: Path, name: str) -> Played:
    """A run of an Atari game, and what was published for it."""
    import numpy as np

    from hyperaction.options import run_config
    from hyperaction.report.atari import Played
    from hyperaction.runs import read_metrics
    from hyperaction.studies import atari as study

    config = run_config(out)
    game = study.game_of(config["env"])
    if not game:
        raise UserError(
            f"{out} is a run of {config['env']}, which is no Atari game such as "
            f"ALE/{study.GAMES[0]}-v5 (hyperaction compare draws other runs)",
            code=1,
        )
    # A phase in which no episode ended has no return.
    rows = [row for row in read_metrics(out, "train") if "return" in row]
    if not rows:
        raise UserError(f"{out} has no finished phase yet", code=1)
    try:
        steps = np.array([int(row["step"]) for row in rows])
        returns = np.array([float(row["return"]) for row in rows])
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{out}: a phase lacks its step or return", code=1) from None
    if not np.isfinite(returns).all() or (np.diff(steps, prepend=0) <= 0).any():
        raise UserError(f"{out}: returns are no numbers, or steps do not grow", code=1)
    of_the_paper = study.agent_of_the_paper(config) is not None
    published = study.published(config)
    return Played(name, game, config["agent"], steps, returns, of_the_paper, published)


def _panels(runs: Sequence[Played]) -> list[Panel]:
    """The published games, then others that runs play."""
    from hyperaction.report.atari import Panel
    from hyperaction.studies import atari as study

    games = dict.fromkeys([*study.GAMES, *(run.game for run in runs)])
    return [
        Panel(
            game,
            [study.curve(game, agent) for agent in study.AGENTS] if game in study.GAMES else [],
            [run for run in runs if run.game == game],
        )
        for game in games
    ]


def _versus(runs: Sequence[Played]) -> list[Versus]:
    """Runs of both agents of a pair, in games that both play with the paper's hyperedges."""
    from hyperaction.report.atari import Versus
    from hyperaction.studies import atari as study

    found = []
    for pair in study.PAIRS:
        baseline, agent = (_returns(runs, name) for name in pair)
        found += [
            Versus(*study.versus(game, pair, (baseline[game], agent[game])))
            for game in study.GAMES
            if game in baseline and game in agent
        ]
    return found


def _over_games(runs: Sequence[Played]) -> list[OverRuns]:
    """Runs with the paper's hyperedges over all games that they play, human-normalised."""
    from hyperaction.report.atari import OverRuns
    from hyperaction.studies import atari as study

    found = []
    for agent in study.AGENTS:
        games = {
            game: finished
            for game, of in _returns(runs, agent).items()
            if (finished := [each for each in of if len(each)])
        }
        if games:
            count = sum(len(of) for of in games.values())
            found.append(OverRuns(agent, count, *study.over_runs(agent, games)))
    return found


def _returns(runs: Sequence[Played], agent: str) -> dict[str, list[Any]]:
    """Returns per iteration of the runs of an agent of the paper, by their games."""
    from hyperaction.studies import atari as study

    found: dict[str, list[Any]] = {}
    for run in runs:
        if run.of_the_paper and run.agent == agent:
            found.setdefault(run.game, []).append(study.per_iteration(run.steps, run.returns))
    return found
