"""The data of the page, from the directories of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hyperaction.report.page import baselines as compared
from hyperaction.report.page import series
from hyperaction.report.page.baselines import Baseline, FindPublished
from hyperaction.report.page.explanations import EXPLANATION, explanations, structures
from hyperaction.report.page.results import is_complete, last_step, results
from hyperaction.report.runs import RunData, agent_labels, preset_of
from hyperaction.runs.directory import flat_settings

Commands = Callable[[RunData], dict[str, str]]
"""The commands that a user can give about a run, by what they do."""


def collect(
    runs: Sequence[RunData],
    published: FindPublished,
    last: int,
    commands: Commands = lambda run: {},
    baselines: Sequence[Baseline] = (),
    folders: Sequence[Path] = (),
) -> tuple[dict[str, Any], list[str]]:
    """Everything that the page shows, ready for JSON, and what could not be read.

    Args:
        runs: The runs.
        published: Finds published results.
        last: How many evaluations a score averages, at most.
        commands: The commands about a run.
        baselines: What to compare with besides.
        folders: Directories whose baselines hold for every run.
    """
    labels = agent_labels({run.out: run.config for run in runs})
    explained, problems = explanations(runs, labels)
    structured, more = structures(runs, labels)
    own = [(run.out, run.config["env"]) for run in runs]
    places = dict(own) | {folder: "" for folder in folders if folder not in dict(own)}
    stored, unread = compared.read(places.items())
    lines = [*baselines, *stored, *compared.random_actions(runs)]
    lines += compared.published_results(runs, labels, published)
    data = {
        "runs": [_run(run, labels[run.out], commands(run)) for run in runs],
        "means": series.means(runs, labels),
        "baselines": [line.as_json() for line in lines],
        "results": results(runs, labels, last),
        "explanations": explained,
        "structures": structured,
    }
    return data, problems + more + unread


def _run(run: RunData, agent: str, commands: dict[str, str]) -> dict[str, Any]:
    settings = {name: v for name, v in run.config.items() if name not in ("settings", "format")}
    settings |= flat_settings(run.config["settings"])
    return {
        "name": run.name,
        "env": run.config["env"],
        "agent": agent,
        "preset": preset_of(run.config),
        "seed": run.config["seed"],
        "total": run.config["steps"],
        "step": last_step(run),
        "complete": is_complete(run),
        "explained": (run.out / EXPLANATION).exists(),
        "series": series.as_json(run),
        "commands": commands,
        "settings": settings,
    }
