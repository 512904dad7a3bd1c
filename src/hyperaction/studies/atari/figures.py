"""The study's figures: relative scores, scores over games, learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hyperaction.report.curves import PublishedCurve
from hyperaction.report.figures import save
from hyperaction.studies.atari.published import AGENTS, GAMES, ITERATION, NAMES, SeedScores, curve
from hyperaction.studies.atari.report import ordered, signed, title
from hyperaction.studies.atari.runs import GameRun
from hyperaction.studies.atari.scores import (
    STATISTICS,
    OverGames,
    RelativeScore,
    Versus,
    mean_over_seeds,
    statistics_over_games,
)

COLOURS = {"dqn": "#f16913", "hgqn": "#08519c"}
"""An orange and a blue, safe for colour-blind readers."""

MARKERS = {"hgqn": ("D", "black"), "hg-rainbow": ("o", "0.5")}
"""The markers of runs on the published bars."""

RUN_COLOURS = ("#000000", "#009e73", "#cc79a7", "#56b4e9", "#a65628")
DASHES = ("-", "--", ":", "-.")

MAX_MARKED = 40
"""Lines of up to this many points have markers, so that a single point is visible."""


class Panel(NamedTuple):
    """A game: the published curves, and runs."""

    game: str
    published: Sequence[PublishedCurve]
    runs: Sequence[GameRun]


def panels(runs: Sequence[GameRun]) -> list[Panel]:
    """A panel for each published game, then for other games that runs play."""
    games = dict.fromkeys([*GAMES, *(run.game for run in runs)])
    return [
        Panel(
            game,
            [curve(game, agent) for agent in AGENTS] if game in GAMES else [],
            [run for run in runs if run.game == game],
        )
        for game in games
    ]


def draw_bars(scores: Sequence[RelativeScore], pairs: Sequence[Versus], file: Path) -> Path:
    """The paper's figure 4: the relative human-normalised score of each game, and of runs."""
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axis = figure.add_subplot()
    rows = ordered(scores)[::-1]
    percents = [100 * row.relative for row in rows]
    colours = [COLOURS["hgqn" if percent > 0 else "dqn"] for percent in percents]
    bars = axis.barh([title(row.game) for row in rows], percents, color=colours, height=0.75)
    axis.bar_label(bars, [signed(row.relative) for row in rows], fontsize=7, padding=2)
    axis.axvline(0, color="0.4", linewidth=0.6)
    heights = {row.game: y for y, row in enumerate(rows)}
    for agent, (marker, colour) in MARKERS.items():
        scored = [pair for pair in pairs if pair.iterations and pair.agent == agent]
        if not scored:
            continue
        fewest, most = (f(pair.iterations for pair in scored) for f in (min, max))
        over = f"{most}" if fewest == most else f"{fewest} to {most}"
        label = f"runs of {NAMES[agent]}, over the first {over} of 200 iterations"
        y = [heights[pair.game] for pair in scored]
        ours = [100 * pair.ours for pair in scored]
        axis.plot(ours, y, marker, color=colour, markersize=4, label=label)
        axis.legend(fontsize=8, frameon=False, loc="lower right")
    axis.margins(x=0.13, y=0.01)
    axis.tick_params(axis="y", labelsize=8, length=0)
    axis.set_xlabel("relative human-normalised score of HGQN versus DQN (%)")
    axis.spines[["top", "right", "left"]].set_visible(False)
    return save(figure, file, dpi=110)


def draw_over_games(
    seeds: Sequence[SeedScores], over_games: Sequence[OverGames], file: Path
) -> Path:
    """The paper's figure 5, with the interquartile mean: seeds thin, their mean bold.

    Runs are black, and only shown if they play all games, as other scores are not comparable.
    """
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    for axis, (statistic, name) in zip(
        figure.subplots(1, len(STATISTICS)), STATISTICS.items(), strict=True
    ):
        for seed in seeds:
            values = 100 * getattr(seed, statistic)
            axis.plot(_iterations(values), values, color=COLOURS[seed.agent], alpha=0.3, lw=0.7)
        for agent in dict.fromkeys(seed.agent for seed in seeds):
            values = 100 * mean_over_seeds(seeds, agent, statistic)
            axis.plot(_iterations(values), values, color=COLOURS[agent], lw=2, label=NAMES[agent])
        for scores in over_games:
            if len(scores.ours) < len(GAMES):
                continue
            values = 100 * statistics_over_games(scores.ours)[statistic]
            style = {"color": "black", "marker": _marker(values), "markersize": 3}
            dashes = "-" if scores.agent == "hgqn" else ":"
            label = f"{NAMES[scores.agent]}, runs"
            axis.plot(_iterations(values), values, dashes, label=label, **style)
        axis.axhline(0, color="0.6", linewidth=0.6)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("training iteration")
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("human-normalised score over games (%)")
    figure.axes[0].legend(frameon=False)
    return save(figure, file, dpi=110)


def draw_panels(panels: Sequence[Panel], file: Path, *, columns: int, zoom: bool = False) -> Path:
    """The paper's figure 8, a panel per game, with runs; zoomed in on the steps of the runs."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    size, font = ((4.2, 3.2), 9) if zoom else ((2.1, 1.6), 7)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.4), layout="constrained")
    for number, panel in enumerate(panels, start=1):
        axis = figure.add_subplot(rows, columns, number)
        end = max((run.steps[-1] / ITERATION for run in panel.runs), default=0.0)
        # A run may be shorter than an iteration: at least two published ones are shown.
        _draw_published(axis, panel.published, max(2, round(end)) if zoom else None)
        _draw_runs(axis, panel, font)
        note = "" if panel.published else ", nothing published"
        axis.set_title(f"{title(panel.game)}{note}", fontsize=font, pad=3)
        axis.tick_params(labelsize=font - 1, length=2, pad=2)
        axis.yaxis.set_major_formatter(_thousands)
        axis.locator_params(nbins=5)
        if zoom:
            axis.set_xlim(left=0)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(f"training iteration ({ITERATION:,} steps)", fontsize=font + 1)
    figure.supylabel("mean training return", fontsize=font + 1)
    _add_legend(figure, panels, font, one_row=columns > 1)
    return save(figure, file, dpi=110)


def _draw_published(axis: Any, curves: Sequence[PublishedCurve], last: int | None) -> None:
    """Minimum to maximum over seeds as a band, the mean as a line."""
    for each in curves:
        colour, iterations = COLOURS[each.agent], each.steps[:last] / ITERATION
        band = (each.minimum[:last], each.maximum[:last])
        axis.fill_between(iterations, *band, color=colour, alpha=0.2, linewidth=0)
        axis.plot(iterations, each.mean[:last], color=colour, linewidth=1.1)


def _draw_runs(axis: Any, panel: Panel, font: int) -> None:
    for number, run in enumerate(panel.runs):
        style = {
            "color": RUN_COLOURS[number % len(RUN_COLOURS)],
            "linestyle": DASHES[number // len(RUN_COLOURS) % len(DASHES)],
            "marker": _marker(run.steps),
            "markersize": 4,
        }
        axis.plot(run.steps / ITERATION, run.returns, lw=1.2, label=run.name, **style)
    if panel.runs:
        axis.legend(fontsize=font - 2, frameon=False, handlelength=1.4, borderaxespad=0.2)


def _add_legend(figure: Figure, panels: Sequence[Panel], font: int, *, one_row: bool) -> None:
    agents = dict.fromkeys(each.agent for panel in panels for each in panel.published)
    if agents:
        lines = [Line2D([], [], color=COLOURS[agent], linewidth=3) for agent in agents]
        names = [f"{NAMES[agent]}, published mean and range of seeds" for agent in agents]
        layout: dict[str, Any] = {
            "loc": "outside upper center",
            "ncols": len(names) if one_row else 1,
        }
        figure.legend(lines, names, fontsize=font + 1, frameon=False, **layout)


def _marker(values: Any) -> str:
    return "." if len(values) <= MAX_MARKED else ""


def _iterations(values: Any) -> Any:
    return np.arange(1, len(values) + 1)


def _thousands(value: float, _: Any) -> str:
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"
