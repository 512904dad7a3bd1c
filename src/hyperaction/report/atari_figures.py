"""Drawings of Atari: relative scores, scores over games, learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyperaction.report.atari import (
    ITERATION,
    NAMES,
    STATISTICS,
    Bar,
    OverRuns,
    Panel,
    Trace,
    Versus,
    mean_trace,
    ordered,
    per_statistic,
    signed,
    title,
)
from hyperaction.report.compare import Spread
from hyperaction.report.drawing import save

COLOURS = {"dqn": "#f16913", "hgqn": "#08519c"}
"""An orange and a blue, which all eyes tell apart."""

MARKS = {"hgqn": ("D", "black"), "hg-rainbow": ("o", "0.5")}
"""How runs are marked beside the published bars."""

RUNS = ("#000000", "#009e73", "#cc79a7", "#56b4e9", "#a65628")
DASHES = ("-", "--", ":", "-.")
FEW = 40
"""Phases up to which a run's are marked, so that a single one is seen."""

GAMES = 29
"""Over which figure 5 is."""


def draw_bars(bars: Sequence[Bar], against: Sequence[Versus], file: Path) -> Path:
    """The paper's figure 4: the relative human-normalised score of every game, and that of runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axis = figure.add_subplot()
    rows = ordered(bars)[::-1]
    scores = [100 * bar.relative for bar in rows]
    colours = [COLOURS["hgqn" if score > 0 else "dqn"] for score in scores]
    drawn = axis.barh([title(bar.game) for bar in rows], scores, color=colours, height=0.75)
    labels = [signed(bar.relative) for bar in rows]
    axis.bar_label(drawn, labels, fontsize=7, padding=2)
    axis.axvline(0, color="0.4", linewidth=0.6)
    places = {bar.game: place for place, bar in enumerate(rows)}
    for agent, (mark, colour) in MARKS.items():
        scored = [one for one in against if one.iterations and one.agent == agent]
        if not scored:
            continue
        fewest, most = (f(one.iterations for one in scored) for f in (min, max))
        over = f"{most}" if fewest == most else f"{fewest} to {most}"
        label = f"runs of {NAMES[agent]}, over the first {over} of 200 iterations"
        where = [places[one.game] for one in scored]
        ours = [100 * one.ours for one in scored]
        axis.plot(ours, where, mark, color=colour, markersize=4, label=label)
        axis.legend(fontsize=8, frameon=False, loc="lower right")
    axis.margins(x=0.13, y=0.01)
    axis.tick_params(axis="y", labelsize=8, length=0)
    axis.set_xlabel("relative human-normalised score of HGQN versus DQN (%)")
    axis.spines[["top", "right", "left"]].set_visible(False)
    return save(figure, file, dpi=110)


def draw_over_games(traces: Sequence[Trace], over: Sequence[OverRuns], file: Path) -> Path:
    """The paper's figure 5, with the interquartile mean: every seed faint, their mean bold.

    Runs are black; a score over fewer games would be another, and is told in words only.
    """
    from matplotlib.figure import Figure

    whole = [one for one in over if len(one.ours) == GAMES]
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    for axis, (statistic, name) in zip(
        figure.subplots(1, len(STATISTICS)), STATISTICS.items(), strict=True
    ):
        for trace in traces:
            values = 100 * getattr(trace, statistic)
            axis.plot(_iterations(values), values, color=_colour(trace.agent), alpha=0.3, lw=0.7)
        for agent in dict.fromkeys(trace.agent for trace in traces):
            values = 100 * mean_trace(traces, agent, statistic)
            axis.plot(_iterations(values), values, color=_colour(agent), lw=2, label=NAMES[agent])
        for one in whole:
            values = 100 * per_statistic(one.ours)[statistic]
            look = {"color": "black", "marker": "." if len(values) <= FEW else "", "markersize": 3}
            dashes = "-" if one.agent == "hgqn" else ":"
            axis.plot(
                _iterations(values), values, dashes, label=f"{NAMES[one.agent]}, runs", **look
            )
        axis.axhline(0, color="0.6", linewidth=0.6)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("training iteration")
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("human-normalised score over games (%)")
    figure.axes[0].legend(frameon=False)
    return save(figure, file, dpi=110)


def draw_panels(panels: Sequence[Panel], file: Path, *, columns: int, near: bool = False) -> Path:
    """The paper's figure 8, a panel for each game, with runs; or near, as far as the runs go."""
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    lines = math.ceil(len(panels) / columns)
    size, font = ((4.2, 3.2), 9) if near else ((2.1, 1.6), 7)
    figure = Figure(figsize=(size[0] * columns, size[1] * lines + 0.4), layout="constrained")
    for place, panel in enumerate(panels):
        axis = figure.add_subplot(lines, columns, place + 1)
        end = max((run.steps[-1] / ITERATION for run in panel.runs), default=0.0)
        # A run may be shorter than an iteration: what was published for the first two is shown.
        _draw_published(axis, panel.published, max(2, round(end)) if near else None)
        _draw_runs(axis, panel, font)
        alone = "" if panel.published else ", nothing published"
        axis.set_title(f"{title(panel.game)}{alone}", fontsize=font, pad=3)
        axis.tick_params(labelsize=font - 1, length=2, pad=2)
        axis.yaxis.set_major_formatter(_short)
        axis.locator_params(nbins=5)
        if near:
            axis.set_xlim(left=0)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(f"training iteration ({ITERATION:,} steps)", fontsize=font + 1)
    figure.supylabel("mean training return", fontsize=font + 1)
    _explain_colours(figure, panels, font, beside=columns > 1)
    return save(figure, file, dpi=110)


def _draw_published(axis: Any, spreads: Sequence[Spread], last: int | None) -> None:
    """Minimum to maximum over seeds as a band, the mean as a line."""
    for spread in spreads:
        colour, iterations = _colour(spread.agent), spread.steps[:last] / ITERATION
        band = (spread.minimum[:last], spread.maximum[:last])
        axis.fill_between(iterations, *band, color=colour, alpha=0.2, linewidth=0)
        axis.plot(iterations, spread.mean[:last], color=colour, linewidth=1.1)


def _draw_runs(axis: Any, panel: Panel, font: int) -> None:
    for place, run in enumerate(panel.runs):
        look = {
            "color": RUNS[place % len(RUNS)],
            "linestyle": DASHES[place // len(RUNS) % len(DASHES)],
            "marker": "." if len(run.steps) <= FEW else "",
            "markersize": 4,
        }
        axis.plot(run.steps / ITERATION, run.returns, lw=1.2, label=run.name, **look)
    if panel.runs:
        axis.legend(fontsize=font - 2, frameon=False, handlelength=1.4, borderaxespad=0.2)


def _explain_colours(figure: Any, panels: Sequence[Panel], font: int, *, beside: bool) -> None:
    from matplotlib.lines import Line2D

    agents = dict.fromkeys(spread.agent for panel in panels for spread in panel.published)
    if agents:
        lines = [Line2D([], [], color=_colour(agent), linewidth=3) for agent in agents]
        names = [f"{NAMES[agent]}, published mean and range of seeds" for agent in agents]
        where = {"loc": "outside upper center", "ncols": len(names) if beside else 1}
        figure.legend(lines, names, fontsize=font + 1, frameon=False, **where)


def _colour(agent: str) -> str:
    return COLOURS.get(agent, "0.5")


def _iterations(values: Any) -> Any:
    return np.arange(1, len(values) + 1)


def _short(value: float, _: Any) -> str:
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"
