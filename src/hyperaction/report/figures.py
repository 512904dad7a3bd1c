"""Figures of learning curves and of explanations. Only this module imports matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text

from hyperaction.report.curves import Group, half_phase
from hyperaction.runs.files import replacing


def save(figure: Figure, file: Path, dpi: int = 130, **options: Any) -> Path:
    """Writes a figure, completely or not at all; returns the file."""
    for text in figure.findobj(Text):
        if "$" in text.get_text():  # Of a name: it begins no formula.
            text.set_parse_math(False)
    with replacing(file) as part:
        figure.savefig(part, dpi=dpi, format=file.suffix[1:], **options)
    return file


def draw_curves(groups: Sequence[Group], file: Path) -> Path:
    """Draws each group in its own panel."""
    columns = min(len(groups), 3)
    rows = math.ceil(len(groups) / columns)
    figure = Figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    for number, group in enumerate(groups, start=1):
        axes = figure.add_subplot(rows, columns, number)
        last = max(int(curve.steps[-1]) for curve in group.curves)
        if (published := group.published) is not None:
            steps = published.steps
            shown = steps <= last + half_phase(steps)
            band = (published.minimum[shown], published.maximum[shown])
            axes.fill_between(
                steps[shown], *band, color="0.85", label=f"{group.published_label}, range"
            )
            axes.plot(
                steps[shown],
                published.mean[shown],
                color="0.45",
                label=f"{group.published_label}, mean",
            )
        if (peer := group.peer) is not None:
            shown = peer.steps <= max(last, int(peer.steps[0]))
            axes.plot(
                peer.steps[shown],
                peer.mean[shown],
                color="0.25",
                linestyle="--",
                marker=".",
                linewidth=1.0,
                label=peer.agent,
            )
        for curve in group.curves:
            axes.plot(curve.steps, curve.returns, label=curve.label, linewidth=1.2)
        for name, mean in group.means().items():
            axes.plot(mean.steps, mean.mean, label=name, linewidth=2.4)
        axes.set_title(group.env, fontsize=9)
        axes.set_xlabel("environment steps")
        axes.set_ylabel("return")
        axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}k")
        axes.legend(fontsize=7, framealpha=0.7, edgecolor="none")
    return save(figure, file)


def draw_explanation(explanation: dict[str, Any], file: Path) -> Path:
    """The paper's figure 7a, a bar per hyperedge, and below it the shares of the variance."""
    panels = 2 if explanation["shares"] else 1
    bars = max(len(explanation["representation"]), len(explanation["shares"]))
    width = min(20.0, max(5.0, 0.24 * bars + 1.5))
    figure = Figure(figsize=(width, 2.9 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    _draw_representation(axes[0], explanation["representation"])
    if panels == 2:
        _draw_shares(axes[1], explanation["shares"])
    if explanation["names"] != [str(vertex) for vertex in range(len(explanation["names"]))]:
        names = ", ".join(f"{vertex} {name}" for vertex, name in enumerate(explanation["names"]))
        figure.supxlabel(names, fontsize=7)
    return save(figure, file)


def _draw_representation(axis: Any, rows: list[dict[str, Any]]) -> None:
    rows = sorted(rows, key=lambda row: (len(row["edge"]), row["edge"]))
    for x, row in enumerate(rows):
        axis.bar(x, row["mean"], color=_colour(row["edge"]))
        axis.vlines(x, row["lowest"], row["highest"], color="black", linewidth=0.8)
    _label(axis, [row["edge"] for row in rows])
    axis.axhline(0, color="0.6", linewidth=0.6)
    for order in sorted({len(row["edge"]) for row in rows}):
        axis.bar(0, 0, color=f"C{order - 1}", label=f"order {order}")
    axis.legend(fontsize=7, frameon=False)
    axis.set_ylabel("representation of\nthe greedy action")


def _draw_shares(axis: Any, rows: list[dict[str, Any]]) -> None:
    rows = sorted(rows, key=lambda row: (len(row["vertices"]), row["vertices"]))
    for x, row in enumerate(rows):
        axis.bar(x, 100 * row["share"], color=_colour(row["vertices"]))
    _label(axis, [row["vertices"] for row in rows])
    axis.set_ylabel("share of the\nvariance of Q (%)")


def _label(axis: Any, parts: list[list[int]]) -> None:
    names = [",".join(map(str, part)) for part in parts]
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    axis.set_xlim(-0.7, len(names) - 0.3)
    axis.spines[["top", "right"]].set_visible(False)


def _colour(part: list[int]) -> str:
    return f"C{len(part) - 1}"
