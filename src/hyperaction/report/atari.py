"""Atari as published and as runs played it: tables and sentences (drawings: atari_figures)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from hyperaction.report.compare import Spread, at
from hyperaction.report.statistics import interquartile_mean

ITERATION = 250_000
"""Steps of the agent in an iteration."""

NAMES = {"dqn": "DQN", "hgqn": "HGQN", "rainbow": "Rainbow", "hg-rainbow": "HG-Rainbow"}
"""The paper's agents, as it writes them."""

STATISTICS = {"median": "median", "mean": "mean", "iqm": "interquartile mean"}
"""What is told over games."""


class Bar(NamedTuple):
    """HGQN versus DQN in a game, over learning curves: their returns, and human-normalised."""

    game: str
    relative: float
    dqn: float
    hgqn: float
    dqn_normalised: float
    hgqn_normalised: float


class Trace(NamedTuple):
    """The human-normalised score of a seed of an agent over the games, every iteration."""

    agent: str
    seed: int
    median: NDArray[np.float64]
    mean: NDArray[np.float64]
    iqm: NDArray[np.float64]


class Played(NamedTuple):
    """A run's training returns, a number for each phase."""

    name: str
    game: str
    agent: str
    steps: NDArray[np.int64]
    returns: NDArray[np.float64]
    of_the_paper: bool
    """Whether it is of an agent of the paper, by its hyperedges, in one of the paper's games."""
    published: Spread | None
    """What was published for its agent in its game, if anything was."""


class Panel(NamedTuple):
    """A game: the curves that were published, and runs."""

    game: str
    published: Sequence[Spread]
    runs: Sequence[Played]


class Versus(NamedTuple):
    """Runs of a pair of agents in a game, over the iterations that all of them have finished."""

    game: str
    baseline: str
    agent: str
    iterations: int
    baseline_runs: int
    agent_runs: int
    ours: float
    published: float


class OverRuns(NamedTuple):
    """Runs of an agent over games, human-normalised: the iterations that all have finished."""

    agent: str
    runs: int
    ours: NDArray[np.float64]
    """The mean of the runs, `[games, iterations]`."""
    published: NDArray[np.float64]
    """The mean of the published seeds in the same games and iterations."""


def title(game: str) -> str:
    """A game's name in words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", game)


def ordered(bars: Sequence[Bar]) -> list[Bar]:
    """The game where HGQN gains most first."""
    return sorted(bars, key=lambda bar: -bar.relative)


def table(bars: Sequence[Bar]) -> Table:
    """All games, with what human-normalised scores are in brackets."""
    grid = Table(title="Mean over learning curves (human-normalised)", title_justify="left")
    for place, name in enumerate(("game", "relative score", "DQN", "HGQN")):
        grid.add_column(name, justify="right" if place else "left", overflow="fold")
    for bar in ordered(bars):
        dqn = f"{_number(bar.dqn)} ({_percent(bar.dqn_normalised)})"
        hgqn = f"{_number(bar.hgqn)} ({_percent(bar.hgqn_normalised)})"
        grid.add_row(title(bar.game), signed(bar.relative), dqn, hgqn)
    return grid


def sentences(bars: Sequence[Bar], traces: Sequence[Trace]) -> list[str]:
    """What the published figures come to."""
    first, second, *_, last = (f"{title(b.game)} ({signed(b.relative)})" for b in ordered(bars))
    scores = np.array([bar.relative for bar in bars])
    middle = per_statistic(scores[:, None])
    told = ", ".join(f"{STATISTICS[name]} {signed(value[0])}" for name, value in middle.items())
    found = [
        f"{first} and {second} lead, {last} trails.",
        f"HGQN is above DQN in {(scores > 0).sum()} of {len(scores)} games; relative score over "
        f"games: {told}.",
    ]
    numbers = over_games(traces)
    for statistic, name in STATISTICS.items():
        agents = [
            f"{NAMES[agent]} {_percent(of[statistic]['average'])} on average and "
            f"{_percent(of[statistic]['last'])} in the last iteration"
            for agent, of in numbers.items()
        ]
        found.append(f"Human-normalised {name} over games: {'; '.join(agents)}.")
    return found


def over_games(traces: Sequence[Trace]) -> dict[str, dict[str, dict[str, float]]]:
    """Scores over games of every agent, the mean of its seeds: over all iterations, in the last."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for agent in dict.fromkeys(trace.agent for trace in traces):
        for statistic in STATISTICS:
            curve = mean_trace(traces, agent, statistic)
            numbers = {"average": float(curve.mean()), "last": float(curve[-1])}
            found.setdefault(agent, {})[statistic] = numbers
    return found


def mean_trace(traces: Sequence[Trace], agent: str, statistic: str) -> NDArray[np.float64]:
    """The mean of an agent's seeds, every iteration."""
    return np.mean([getattr(one, statistic) for one in traces if one.agent == agent], axis=0)


def run_sentence(run: Played) -> str:
    """Where a run has come to."""
    step, last = int(run.steps[-1]), _number(run.returns[-1])
    told = f"{run.name}: {run.agent} in {title(run.game)}, return {last} at step {step:,}"
    if (spread := run.published) is None:
        return f"{told}; nothing is published for it"
    mean, low, high = (float(value) for value in at(spread, step))
    if np.isnan(mean):
        first, final = spread.steps[0], spread.steps[-1]
        return f"{told}; the published curve goes from step {first:,} to {final:,}"
    return f"{told}; published there: {_number(mean)} ({_number(low)} to {_number(high)})"


def versus_sentence(found: Versus) -> str:
    """How runs of HGQN, say, do against those of DQN."""
    runs = (
        f"{_runs(found.agent_runs)} of {NAMES[found.agent]} versus "
        f"{_runs(found.baseline_runs)} of {NAMES[found.baseline]}"
    )
    if not found.iterations:
        return (
            f"{title(found.game)}, {runs}: no relative score yet, as not all have finished an "
            f"iteration of {ITERATION:,} steps"
        )
    over = "iteration 1" if found.iterations == 1 else f"iterations 1 to {found.iterations}"
    published = "" if np.isnan(found.published) else f", published {signed(found.published)}"
    return f"{title(found.game)}, {runs}, {over}: relative score {signed(found.ours)}{published}"


def over_games_sentence(found: OverRuns) -> str:
    """What runs come to over the games that they play."""
    games, iterations = found.ours.shape
    over = "iteration 1" if iterations == 1 else f"iterations 1 to {iterations}"
    told = (
        f"{NAMES[found.agent]} in {games} {'game' if games == 1 else 'games'} "
        f"({_runs(found.runs)}), {over}, human-normalised"
    )
    if games == 1:
        return (
            f"{told}: {_percent(found.ours.mean())}, published {_percent(found.published.mean())}"
        )
    ours, published = (per_statistic(each) for each in (found.ours, found.published))
    scores = [
        f"{name} {_percent(ours[key].mean())} (published {_percent(published[key].mean())})"
        for key, name in STATISTICS.items()
    ]
    return f"{told} over these games: {', '.join(scores)}"


def per_statistic(scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Every statistic over games, of scores `[games, iterations]`."""
    return {
        "median": np.median(scores, axis=0),
        "mean": scores.mean(axis=0),
        "iqm": interquartile_mean(scores.T),
    }


def published_summary(bars: Sequence[Bar], traces: Sequence[Trace]) -> dict[str, Any]:
    """The numbers of the published figures, ready for JSON."""
    agents = over_games(traces)
    return {
        "games": [bar._asdict() for bar in ordered(bars)],
        "over_games": agents,
        "over_games_by_iteration": {
            agent: {name: mean_trace(traces, agent, name).round(5).tolist() for name in STATISTICS}
            for agent in agents
        },
    }


def runs_summary(
    runs: Sequence[Played], against: Sequence[Versus], over: Sequence[OverRuns]
) -> dict[str, Any]:
    """The numbers of runs, ready for JSON."""
    return {
        "runs": [
            {
                "name": run.name,
                "game": run.game,
                "agent": run.agent,
                "published": run.published.agent if run.published else None,
                "steps": run.steps.tolist(),
                "returns": run.returns.tolist(),
            }
            for run in runs
        ],
        # Without an iteration there is no score, which JSON calls null.
        "relative": [
            {key: None if value != value else value for key, value in one._asdict().items()}
            for one in against
        ],
        "over_games_of_runs": {
            one.agent: {
                "games": len(one.ours),
                "runs": one.runs,
                **{name: each.tolist() for name, each in per_statistic(one.ours).items()},
                "published": {
                    name: each.tolist() for name, each in per_statistic(one.published).items()
                },
            }
            for one in over
        },
    }


def signed(share: float) -> str:
    """A share of one in percent, with its sign."""
    return f"{100 * share:+.1f}%"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
