"""The findings, the table and the figure of the bandit study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.table import Table

from hyperaction.report.figures import save

Errors = dict[tuple[int, str], NDArray[np.float32]]
"""RMS errors `[trials, iterations]` by size and model."""
Scales = Mapping[int, NDArray[np.float32]]
"""The RMS reward `[trials]` by size: the error of predicting zero for every action."""

COMPLETE = ("sum-r3", "universal-r3")
"""The models with all hyperedges."""


@dataclass(frozen=True)
class Finding:
    """One of the paper's findings, and whether it holds here; None if that is undecided."""

    claim: str
    holds: bool | None
    evidence: str


def final_errors(errors: Errors) -> Errors:
    """The errors at the last iteration, `[trials]`."""
    return {cell: table[:, -1] for cell, table in errors.items()}


def findings(errors: Errors, scales: Scales) -> list[Finding]:
    """The three findings of section 4, checked with the mean errors at the last iteration."""
    final = final_errors(errors)
    beats_table = [
        (size, model, "tabular")
        for size, model in final
        if model in COMPLETE and (size, "tabular") in final
    ]
    beats_sum = [
        (size, model, model.replace("universal", "sum"))
        for size, model in final
        if model.startswith("universal") and (size, model.replace("universal", "sum")) in final
    ]
    return [
        _comparison("every model with all hyperedges beats the table", final, beats_table),
        _comparison("the universal mixer beats the sum", final, beats_sum),
        _growing_gap(final, scales),
    ]


def _comparison(
    claim: str,
    final: Errors,
    pairs: list[tuple[int, str, str]],
) -> Finding:
    if not pairs:
        return Finding(claim, None, "the models that it compares were not trained")
    failures, trials = [], []
    for size, better, worse in pairs:
        trials.append(np.mean(final[size, better] < final[size, worse]))
        if not final[size, better].mean() < final[size, worse].mean():
            failures.append(f"{better} against {worse} at size {size}")
    evidence = (
        f"lower mean error in {len(pairs) - len(failures)} of {len(pairs)} comparisons, "
        f"and in {np.mean(trials):.0%} of their trials"
    )
    return Finding(
        claim, not failures, evidence + (f"; not for {', '.join(failures)}" if failures else "")
    )


def _growing_gap(final: Errors, scales: Scales) -> Finding:
    claim = "the gap to the table grows with the number of actions"
    sizes = sorted({size for size, _ in final})
    models = [model for model in COMPLETE if all((size, model) in final for size in sizes)]
    if len(sizes) < 2 or not models or not all((size, "tabular") in final for size in sizes):
        return Finding(claim, None, "it needs at least two sizes, the table and a rank-3 model")
    holds, evidence = True, []
    for model in models:
        gaps = [
            float((final[size, "tabular"].mean() - final[size, model].mean()) / scale.mean())
            for size, scale in ((size, scales[size]) for size in sizes)
        ]
        holds &= all(low < high for low, high in pairwise(gaps))
        shown = ", ".join(f"{gap:.3f}" for gap in gaps)
        evidence.append(f"{model} {shown}")
    return Finding(
        claim,
        holds,
        f"normalised gaps at sizes {', '.join(map(str, sizes))}: {'; '.join(evidence)}",
    )


def order(errors: Errors, size: int) -> list[str]:
    """The models of a size by mean error at the last iteration, smallest first."""
    final = final_errors(errors)
    models = [model for other, model in errors if other == size]
    return sorted(models, key=lambda model: final[size, model].mean())


def summary(settings: Mapping[str, Any], errors: Errors, scales: Scales) -> dict[str, Any]:
    """All results, ready for JSON."""
    final = final_errors(errors)
    return {
        "settings": dict(settings),
        "reward_rms": {str(size): float(scale.mean()) for size, scale in scales.items()},
        "last_iteration": [
            {
                "size": size,
                "model": model,
                "mean": float(values.mean()),
                "standard_deviation": float(values.std()),
                "quartiles": np.quantile(values, [0.25, 0.5, 0.75]).tolist(),
                "normalised_mean": float(values.mean() / scales[size].mean()),
            }
            for (size, model), values in final.items()
        ],
        "order": {str(size): order(errors, size) for size in scales},
        "findings": [asdict(finding) for finding in findings(errors, scales)],
    }


def table(errors: Errors) -> Table:
    """Mean errors at the last iteration, and the position of each model at its size."""
    final = final_errors(errors)
    sizes = list(dict.fromkeys(size for size, _ in errors))
    ranking = {size: order(errors, size) for size in sizes}
    grid = Table(title="RMS error at the last iteration (position)", title_justify="left")
    grid.add_column("model", no_wrap=True)
    for size in sizes:
        grid.add_column(f"{size} x {size} x {size}", justify="right")
    for model in dict.fromkeys(model for _, model in errors):
        grid.add_row(
            model,
            *(
                f"{final[size, model].mean():.3f} ({ranking[size].index(model) + 1})"
                for size in sizes
            ),
        )
    return grid


COLOURS = {
    "tabular": "#4d4d4d",
    "sum-r1": "#9ecae1",
    "sum-r2": "#4292c6",
    "sum-r3": "#08519c",
    "universal-r1": "#fdae6b",
    "universal-r2": "#f16913",
    "universal-r3": "#a63603",
}


def draw(errors: Errors, scales: Scales, out: Path) -> list[Path]:
    """Both panels of the paper's figure 3, as PNG and SVG."""
    with rc_context({"svg.hashsalt": "hyperaction", "font.size": 9}):
        figure = _figure(errors, scales)
        files = [out / "bandits.png", out / "bandits.svg"]
        for file in files:
            # Without the date, the same results give the same file.
            metadata = {"Date": None} if file.suffix == ".svg" else None
            save(figure, file, dpi=150, metadata=metadata)
    return files


def _figure(errors: Errors, scales: Scales) -> Figure:
    sizes = list(scales)
    figure = Figure(figsize=(3.0 * len(sizes) + 4.2, 3.4), layout="constrained")
    ratios = [1.0] * len(sizes) + [1.6]
    axes = figure.subplots(1, len(sizes) + 1, width_ratios=ratios)
    for axis, size in zip(axes, sizes, strict=False):
        _draw_curves(axis, size, errors, scales[size])
        axis.sharey(axes[0])
    axes[0].set_ylabel("normalised RMS error")
    axes[0].set_ylim(bottom=0)
    axes[0].set_title("(a)", loc="left", fontweight="bold")
    _draw_bars(axes[-1], errors, sizes)
    handles, labels = axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _draw_curves(axis: Any, size: int, errors: Errors, scale: NDArray[np.float32]) -> None:
    """Mean and interquartile range of the error over trials, relative to the RMS reward."""
    for (other, model), table in errors.items():
        if other != size or model not in ("tabular", *COMPLETE):
            continue
        iterations = np.arange(1, table.shape[1] + 1)
        low, high = np.quantile(table / scale[:, None], [0.25, 0.75], axis=0)
        axis.fill_between(iterations, low, high, color=COLOURS[model], alpha=0.2, linewidth=0)
        axis.plot(iterations, table.mean(axis=0) / scale.mean(), color=COLOURS[model])
    axis.set_xlabel("training iteration")
    axis.set_title(f"{size}³ = {size**3:,} actions")
    axis.spines[["top", "right"]].set_visible(False)


def _draw_bars(axis: Any, errors: Errors, sizes: list[int]) -> None:
    """Mean errors at the last iteration, with the interquartile range over trials."""
    final = final_errors(errors)
    models = list(dict.fromkeys(model for _, model in errors))
    width = 0.8 / len(models)
    for column, model in enumerate(models):
        x = np.arange(len(sizes)) + (column - (len(models) - 1) / 2) * width
        values = [final[size, model] for size in sizes]
        means = np.array([value.mean() for value in values])
        quartiles = np.array([np.quantile(value, [0.25, 0.75]) for value in values]).T
        axis.bar(x, means, width, color=COLOURS[model], label=model)
        axis.vlines(x, *quartiles, color="black", linewidth=0.8)
    axis.set_xticks(range(len(sizes)), [f"{size}³" for size in sizes])
    axis.set_xlabel("actions")
    axis.set_ylabel("RMS error at the last iteration")
    axis.set_title("(b)", loc="left", fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)
