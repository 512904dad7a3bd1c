"""What hyperedges contribute: representations of actions, and shares of the variance of Q."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperaction.analysis.calibration import Calibration, summary
from hyperaction.analysis.rollout import Rollout, Trained, load_trained, rollouts
from hyperaction.anova import Vertices, Weights, canonical, closure, uniform, variances
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph

WeightsName = Literal["even", "policy"]


class Explanation:
    """Statistics over steps of agents with the same hyperedges.

    Args:
        hypergraph: The hyperedges.
        affine: Whether Q is a weighted sum of the hyperedges' values; otherwise there is no
            canonical form, and there are no shares.
        weights: The weights of sub-actions in the canonical form; uniform by default.
    """

    def __init__(self, hypergraph: Hypergraph, *, affine: bool, weights: Weights | None) -> None:
        self.hypergraph = hypergraph
        self.affine, self.weights = affine, uniform(hypergraph) if weights is None else weights
        self.steps = 0
        edges = hypergraph.num_edges
        self.total = np.zeros(edges)
        self.lowest, self.highest = np.full(edges, np.inf), np.full(edges, -np.inf)
        self.variance = dict.fromkeys(closure(hypergraph), 0.0) if affine else {}

    def add(self, rollout: Rollout) -> None:
        """Adds steps."""
        chosen = self.hypergraph.representation(rollout.outputs, rollout.actions)
        self.steps += len(chosen)
        self.total += chosen.sum(axis=0, dtype=np.float64)
        self.lowest = np.minimum(self.lowest, chosen.min(axis=0))
        self.highest = np.maximum(self.highest, chosen.max(axis=0))
        if self.affine:
            form = canonical(self.hypergraph, rollout.outputs.astype(np.float64), self.weights)
            for part, each in variances(form, self.weights).items():
                self.variance[part] += float(each.sum())

    @property
    def shares(self) -> dict[Vertices, float]:
        """The share of the variance of Q over actions that each set of vertices explains."""
        total = sum(self.variance.values())
        return {part: each / total if total else 0.0 for part, each in self.variance.items()}

    def as_json(self) -> dict[str, Any]:
        """All statistics, ready for JSON."""
        means = self.total / max(1, self.steps)
        columns = (self.hypergraph.edges, means, self.lowest, self.highest)
        return {
            "sizes": list(self.hypergraph.sizes),
            "steps": self.steps,
            "representation": [
                {
                    "edge": list(edge),
                    "mean": float(mean),
                    "lowest": float(low),
                    "highest": float(high),
                }
                for edge, mean, low, high in zip(*columns, strict=True)
            ],
            "shares": [
                {"vertices": list(part), "share": share} for part, share in self.shares.items()
            ],
        }


def policy_weights(hypergraph: Hypergraph, actions: Iterable[NDArray[np.int32]]) -> list[Any]:
    """The frequency of each sub-action of each vertex."""
    counts = [np.zeros(size) for size in hypergraph.sizes]
    for batch in actions:
        for vertex, count in enumerate(counts):
            count += np.bincount(batch[:, vertex], minlength=len(count))
    return [count / count.sum() for count in counts]


def load_runs(
    runs: Sequence[Path],
    *,
    env: str = "",
    trust: bool = False,
    parts: Mapping[str, str] | None = None,
) -> tuple[list[tuple[Path, Trained]], list[str]]:
    """The agents of the runs that have one, and what is wrong with the others.

    Args:
        runs: Directories of runs, or files of agents.
        env: The environment to use, instead of the runs' own.
        trust: Whether modules that the runs name may be imported.
        parts: Parts of the user's own, as in `load_agent`.
    """
    agents, problems = [], []
    for run in runs:
        try:
            agent = load_trained(run, env=env, trust=trust, parts=parts, with_hyperedges=True)
            agents.append((run, agent))
        except SettingError:  # Not of the run, but of what was asked for.
            raise
        except ValueError as error:
            problems.append(str(error))
    return agents, problems


def explain_runs(
    runs: Sequence[tuple[Path, Trained]],
    steps: int,
    weights: WeightsName,
    seed: int,
    on_progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """The statistics of the agents of runs, ready for JSON.

    Args:
        runs: Directories and agents of runs, with the same environment and hyperedges.
        steps: Steps of each agent.
        weights: Uniform weights in the canonical form, or the frequencies of the policy.
        seed: The seed of the environments.
        on_progress: Receives the steps done so far and in total.
    """
    first, agents = runs[0][0], [agent for _, agent in runs]
    hypergraph = agents[0].hypergraph
    for run, agent in runs:
        if agent.hypergraph != hypergraph:
            raise ValueError(f"{run} has other hyperedges than {first}: explain them one by one")
        if agent.env != agents[0].env:
            raise ValueError(
                f"{run} is of {agent.env}, not {agents[0].env}: explain them one by one"
            )
    total = len(agents) * steps * (2 if weights == "policy" else 1)
    done = 0

    def play() -> Iterator[tuple[int, Rollout]]:
        nonlocal done
        for number, agent in enumerate(agents):
            for rollout in rollouts(agent.learner, agent.make_env(), steps, seed):
                done += len(rollout.actions)
                on_progress(done, total)
                yield number, rollout

    frequencies = None
    if weights == "policy":  # The same seed: these are the steps that are explained next.
        frequencies = policy_weights(hypergraph, (rollout.actions for _, rollout in play()))
    affine = all(agent.affine for agent in agents)
    explanation = Explanation(hypergraph, affine=affine, weights=frequencies)
    configs = [agent.learner.config for agent in agents]
    calibrations = [Calibration(config.discount, config.reward_clip) for config in configs]
    for number, rollout in play():
        explanation.add(rollout)
        calibrations[number].add(rollout)
    names = agents[0].names
    return {
        "names": list(names),
        "weights": weights,
        "agents": len(agents),
        **explanation.as_json(),
        "values": summary(calibrations),
    }
