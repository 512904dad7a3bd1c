"""The figure of a study: scores over trials, and which settings matter."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from matplotlib.figure import Figure
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import TrialState

from hyperaction.report.figures import save
from hyperaction.tuning.results import Trial, trials

FILE = "tune.png"
MIN_TRIALS = 4
"""Completed trials that the importance of settings is estimated from, at least."""


def draw(study: optuna.Study, out: Path) -> Path:
    """Draws the figure of a study into its directory; returns the file."""
    importances = _importances(study)
    panels = 2 if importances else 1
    figure = Figure(figsize=(5.2 * panels, 3.6), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    _draw_history(axes[0], sorted(trials(study), key=lambda each: each.number))
    if importances:
        names = list(importances)[::-1]
        axes[1].barh(names, [importances[name] for name in names], color="C0")
        axes[1].set_xlabel("importance for the score")
        axes[1].tick_params(axis="y", labelsize=7)
    return save(figure, out / FILE)


def _draw_history(axis: Any, found: list[Trial]) -> None:
    done, pruned = (
        {t.number: t.score for t in found if t.state == state and t.score is not None}
        for state in ("done", "pruned")
    )
    for scores, style, colour, label in (
        (done, "o", "C0", "trial"), (pruned, "x", "0.6", "pruned"),
    ):  # fmt: skip
        if scores:
            axis.plot(list(scores), list(scores.values()), style, color=colour, label=label)
    if done:
        best = np.maximum.accumulate(list(done.values()))
        axis.step(list(done), best, where="post", color="C1", label="best so far")
    if 0 in done:
        axis.axhline(done[0], color="0.4", linestyle=":", label="preset unchanged")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel("trial")
    axis.set_ylabel("score")
    axis.legend(fontsize=7, framealpha=0.7, edgecolor="none")


def _importances(study: optuna.Study) -> dict[str, float]:
    """How much of the score each setting decides, from the trials that were completed."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(done) < MIN_TRIALS or len({each.value for each in done}) == 1:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        evaluator = PedAnovaImportanceEvaluator()
        return get_param_importances(study, evaluator=evaluator)
