"""The study's table and sentences, and all its numbers for JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table

from hyperaction.report.curves import format_return
from hyperaction.studies.atari.published import ITERATION, NAMES, SeedScores
from hyperaction.studies.atari.runs import GameRun
from hyperaction.studies.atari.scores import (
    STATISTICS,
    OverGames,
    RelativeScore,
    Versus,
    mean_over_seeds,
    statistics_over_games,
)


def title(game: str) -> str:
    """The name of a game with spaces between its words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", game)


def ordered(scores: Sequence[RelativeScore]) -> list[RelativeScore]:
    """The games by relative score, highest first."""
    return sorted(scores, key=lambda score: -score.relative)


def table(scores: Sequence[RelativeScore]) -> Table:
    """All games, with human-normalised scores in brackets."""
    grid = Table(title="Mean over learning curves (human-normalised)", title_justify="left")
    for column, name in enumerate(("game", "relative score", "DQN", "HGQN")):
        grid.add_column(name, justify="right" if column else "left", overflow="fold")
    for score in ordered(scores):
        dqn = f"{format_return(score.dqn)} ({_percent(score.dqn_normalised)})"
        hgqn = f"{format_return(score.hgqn)} ({_percent(score.hgqn_normalised)})"
        grid.add_row(title(score.game), signed(score.relative), dqn, hgqn)
    return grid


def published_sentences(scores: Sequence[RelativeScore], seeds: Sequence[SeedScores]) -> list[str]:
    """A summary of the published results."""
    first, second, *_, last = (f"{title(s.game)} ({signed(s.relative)})" for s in ordered(scores))
    relative = np.array([score.relative for score in scores])
    statistics = statistics_over_games(relative[:, None])
    over = ", ".join(f"{STATISTICS[name]} {signed(value[0])}" for name, value in statistics.items())
    sentences = [
        f"{first} and {second} lead, {last} trails.",
        f"HGQN is above DQN in {(relative > 0).sum()} of {len(relative)} games; relative score "
        f"over games: {over}.",
    ]
    by_agent = published_over_games(seeds)
    for statistic, name in STATISTICS.items():
        agents = [
            f"{NAMES[agent]} {_percent(numbers[statistic]['average'])} on average and "
            f"{_percent(numbers[statistic]['last'])} in the last iteration"
            for agent, numbers in by_agent.items()
        ]
        sentences.append(f"Human-normalised {name} over games: {'; '.join(agents)}.")
    return sentences


def published_over_games(seeds: Sequence[SeedScores]) -> dict[str, dict[str, dict[str, float]]]:
    """Published scores by agent and statistic: averaged over iterations, and in the last one."""
    by_agent: dict[str, dict[str, dict[str, float]]] = {}
    for agent in dict.fromkeys(seed.agent for seed in seeds):
        for statistic in STATISTICS:
            curve = mean_over_seeds(seeds, agent, statistic)
            numbers = {"average": float(curve.mean()), "last": float(curve[-1])}
            by_agent.setdefault(agent, {})[statistic] = numbers
    return by_agent


def run_sentence(run: GameRun) -> str:
    """The last return of a run, and what was published at that step."""
    step, last = int(run.steps[-1]), format_return(run.returns[-1])
    text = f"{run.name}: {run.agent} in {title(run.game)}, return {last} at step {step:,}"
    if run.published is None:
        return f"{text}; nothing is published for it"
    mean, low, high = (float(value) for value in run.published.at(step))
    if np.isnan(mean):
        first, final = run.published.steps[0], run.published.steps[-1]
        return f"{text}; the published curve is from step {first:,} to {final:,}"
    low_to_high = f"{format_return(low)} to {format_return(high)}"
    return f"{text}; published at that step: {format_return(mean)} ({low_to_high})"


def versus_sentence(versus: Versus) -> str:
    """The relative score of the runs of a pair."""
    runs = (
        f"{_runs(versus.agent_runs)} of {NAMES[versus.agent]} versus "
        f"{_runs(versus.baseline_runs)} of {NAMES[versus.baseline]}"
    )
    if not versus.iterations:
        return (
            f"{title(versus.game)}, {runs}: no relative score yet, as not all have finished an "
            f"iteration of {ITERATION:,} steps"
        )
    published = "" if np.isnan(versus.published) else f", published {signed(versus.published)}"
    return (
        f"{title(versus.game)}, {runs}, {_iterations(versus.iterations)}: relative score "
        f"{signed(versus.ours)}{published}"
    )


def over_games_sentence(scores: OverGames) -> str:
    """The scores of runs over the games that they play."""
    games, iterations = scores.ours.shape
    text = (
        f"{NAMES[scores.agent]} in {games} {'game' if games == 1 else 'games'} "
        f"({_runs(scores.runs)}), {_iterations(iterations)}, human-normalised"
    )
    if games == 1:
        means = [_percent(each.mean()) for each in (scores.ours, scores.published)]
        return f"{text}: {means[0]}, published {means[1]}"
    ours, published = (statistics_over_games(each) for each in (scores.ours, scores.published))
    statistics = [
        f"{name} {_percent(ours[key].mean())} (published {_percent(published[key].mean())})"
        for key, name in STATISTICS.items()
    ]
    return f"{text} over these games: {', '.join(statistics)}"


def published_numbers(
    scores: Sequence[RelativeScore], seeds: Sequence[SeedScores]
) -> dict[str, Any]:
    """The numbers of the published figures, ready for JSON."""
    by_agent = published_over_games(seeds)
    return {
        "games": [score._asdict() for score in ordered(scores)],
        "over_games": by_agent,
        "over_games_by_iteration": {
            agent: {
                name: mean_over_seeds(seeds, agent, name).round(5).tolist() for name in STATISTICS
            }
            for agent in by_agent
        },
    }


def run_numbers(
    runs: Sequence[GameRun], pairs: Sequence[Versus], over_games: Sequence[OverGames]
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
        # JSON has no NaN: a missing score is null.
        "relative": [
            {key: None if value != value else value for key, value in pair._asdict().items()}
            for pair in pairs
        ],
        "over_games_of_runs": {
            scores.agent: {
                "games": len(scores.ours),
                "runs": scores.runs,
                **_lists(scores.ours),
                "published": _lists(scores.published),
            }
            for scores in over_games
        },
    }


def _lists(scores: Any) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in statistics_over_games(scores).items()}


def signed(share: float) -> str:
    """A fraction in percent, with its sign."""
    return f"{100 * share:+.1f}%"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _iterations(count: int) -> str:
    return "iteration 1" if count == 1 else f"iterations 1 to {count}"
