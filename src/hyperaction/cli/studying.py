"""The commands bandits and atari-figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperaction.cli.runs import other_version
from hyperaction.cli.terminal import STOPPED, UserError, need, progress_bar
from hyperaction.parsing import parse

if TYPE_CHECKING:
    from hyperaction.report.atari import Panel, Played, Versus


def bandits(args: Sequence[str]) -> None:
    """Compare action hypergraph networks with a table on bandits (section 4)."""
    from hyperaction.studies.bandits.settings import BanditStudy

    study = parse(BanditStudy, "bandits", args)
    need("matplotlib", extra="report")
    from rich.console import Console

    from hyperaction.report import bandits as report
    from hyperaction.studies.bandits import files
    from hyperaction.studies.bandits.study import run

    console = Console(markup=False)
    try:
        with progress_bar(console) as bar:
            total = sum(cell.cost * study.iterations for cell in study.cells)
            task = bar.add_task("training", total=total)
            work: dict[Any, float] = {}

            def progress(cell: Any, iterations: int) -> None:
                work[cell] = cell.cost * iterations
                bar.update(task, completed=sum(work.values()))

            by_cell, scales = run(study, progress)
    except KeyboardInterrupt:
        raise UserError("stopped; run the same command to continue", code=STOPPED) from None
    errors: report.Errors = {(cell.size, cell.model): table for cell, table in by_cell.items()}
    settings = {"trials": study.trials, "iterations": study.iterations, "seed": study.seed}
    summary = report.summary(settings, errors, scales)
    written = [
        files.write_csv(study, by_cell),
        files.write_json(study.out / "summary.json", summary),
        *report.draw(errors, scales, study.out),
    ]
    console.print(report.table(errors))
    for finding in report.findings(errors, scales):
        verdict = {True: "holds", False: "does not hold", None: "cannot be told"}[finding.holds]
        console.print(f"{finding.claim}: {verdict} ({finding.evidence})")
    console.print("Written: " + " ".join(str(file) for file in written), soft_wrap=True)


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

    names = _short_names(options.runs)
    runs = [_atari_run(given, name) for given, name in names.items()]
    panels = _atari_panels(runs)
    console, out = Console(markup=False), options.out
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {}
    sentences: list[str] = []
    written = []
    if options.published:
        bars = [report.Bar(*study.relative(game)) for game in study.GAMES]
        seeds = [report.Trace(*seed) for seed in study.over_games()]
        written += [
            figures.draw_bars(bars, out / "atari-bars.png"),
            figures.draw_over_games(seeds, out / "atari-median-mean.png"),
            figures.draw_panels(panels, out / "atari-curves.png", columns=5),
        ]
        numbers |= report.published_summary(bars, seeds)
        console.print(report.table(bars))
        sentences += report.sentences(bars, seeds)
    if runs:
        played = [panel for panel in panels if panel.runs]
        near = figures.draw_panels(played, out / "atari-runs.png", columns=3, near=True)
        written.append(near)
        against = _atari_versus(runs)
        numbers |= report.runs_summary(runs, against)
        sentences += [report.run_sentence(run) for run in runs]
        sentences += [report.versus_sentence(one) for one in against]
        for given, name in names.items():
            sentences += other_version(name, run_config(to_read(given)))
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


def _atari_run(given: Path, name: str) -> Played:
    """A run of an Atari game, and what was published for it."""
    import numpy as np

    from hyperaction.options import run_config
    from hyperaction.report.atari import Played
    from hyperaction.report.table import find_runs
    from hyperaction.runs import read_metrics
    from hyperaction.runs.remote import to_read
    from hyperaction.studies import atari as study

    out = to_read(given)
    if not (out / "config.json").exists() and (inside := find_runs([out])):
        raise UserError(f"{given} holds several runs; name them, such as {inside[0]}", code=1)
    config = run_config(out)
    game = study.game_of(config["env"])
    if not game:
        raise UserError(
            f"{given} is a run of {config['env']}, which is no Atari game such as "
            f"ALE/{study.GAMES[0]}-v5 (hyperaction compare draws other runs)",
            code=1,
        )
    # A phase in which no episode ended has no return.
    rows = [row for row in read_metrics(out, "train") if "return" in row]
    if not rows:
        raise UserError(f"{given} has no finished phase yet", code=1)
    try:
        steps = np.array([int(row["step"]) for row in rows])
        returns = np.array([float(row["return"]) for row in rows])
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{given}: a phase lacks its step or return", code=1) from None
    if not np.isfinite(returns).all() or (np.diff(steps, prepend=0) <= 0).any():
        raise UserError(f"{given}: returns are no numbers, or steps do not grow", code=1)
    return Played(name, game, config["agent"], steps, returns, study.published(config))


def _atari_panels(runs: Sequence[Played]) -> list[Panel]:
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


def _atari_versus(runs: Sequence[Played]) -> list[Versus]:
    """Runs of HGQN against those of DQN, in games that both play with the paper's hyperedges."""
    from hyperaction.report.atari import Versus
    from hyperaction.studies import atari as study

    returns: dict[str, dict[str, list[Any]]] = {}
    for run in runs:
        if run.published is not None:
            agents = returns.setdefault(run.game, {agent: [] for agent in study.AGENTS})
            agents[run.published.agent].append(study.per_iteration(run.steps, run.returns))
    return [
        Versus(*study.versus(game, **agents))
        for game, agents in returns.items()
        if all(agents.values())
    ]
