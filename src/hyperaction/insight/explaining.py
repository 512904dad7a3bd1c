"""Which hyperedges matter: representations of chosen actions, and shares of the variance of Q."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperaction.environments.actions import ActionMap, Listed
from hyperaction.environments.atari import VERTICES
from hyperaction.hypergraph import Hypergraph
from hyperaction.insight.canonical import Vertices, Weights, canonical, closure, even, variances
from hyperaction.insight.watching import Seen

WeightsName = Literal["even", "policy"]


class Explanation:
    """What was seen of one or several agents with the same hyperedges.

    Args:
        hypergraph: Their hyperedges.
        affine: Whether Q is a weighted sum of the hyperedges' values; without, there is no
            canonical form to take shares of.
        weights: How much each sub-action weighs in the canonical form.
    """

    def __init__(self, hypergraph: Hypergraph, *, affine: bool, weights: Weights | None) -> None:
        self.hypergraph = hypergraph
        self.affine, self.weights = affine, even(hypergraph) if weights is None else weights
        self.steps = 0
        edges = hypergraph.num_edges
        self.total = np.zeros(edges)
        self.lowest, self.highest = np.full(edges, np.inf), np.full(edges, -np.inf)
        self.variance = dict.fromkeys(closure(hypergraph), 0.0) if affine else {}

    def add(self, seen: Seen) -> None:
        """Takes in some steps."""
        chosen = self.hypergraph.representation(seen.outputs, seen.actions)
        self.steps += len(chosen)
        self.total += chosen.sum(axis=0, dtype=np.float64)
        self.lowest = np.minimum(self.lowest, chosen.min(axis=0))
        self.highest = np.maximum(self.highest, chosen.max(axis=0))
        if self.affine:
            form = canonical(self.hypergraph, seen.outputs.astype(np.float64), self.weights)
            for part, each in variances(form, self.weights).items():
                self.variance[part] += float(each.sum())

    @property
    def shares(self) -> dict[Vertices, float]:
        """The share of the variance of Q over actions that each set of vertices explains."""
        total = sum(self.variance.values())
        return {part: each / total if total else 0.0 for part, each in self.variance.items()}

    def as_json(self) -> dict[str, Any]:
        """Everything that was found, ready for JSON."""
        edges = [
            {"edge": list(edge), "mean": float(mean), "lowest": float(low), "highest": float(high)}
            for edge, mean, low, high in zip(
                self.hypergraph.edges,
                self.total / max(1, self.steps),
                self.lowest,
                self.highest,
                strict=True,
            )
        ]
        return {
            "sizes": list(self.hypergraph.sizes),
            "steps": self.steps,
            "representation": edges,
            "shares": [
                {"vertices": list(part), "share": share} for part, share in self.shares.items()
            ],
        }


def policy_weights(hypergraph: Hypergraph, actions: Iterable[NDArray[np.int32]]) -> list[Any]:
    """How often the policy takes each sub-action of each vertex."""
    counts = [np.zeros(size) for size in hypergraph.sizes]
    for some in actions:
        for vertex, count in enumerate(counts):
            count += np.bincount(some[:, vertex], minlength=len(count))
    return [count / count.sum() for count in counts]


def joint_names(env: Any, actions: ActionMap) -> list[str]:
    """What the environment calls the dimensions of its actions, if it says; else nothing."""
    if isinstance(actions, Listed):
        return list(VERTICES)
    raw = env.unwrapped
    readers: list[Callable[[], list[str]]] = [
        lambda: [str(joint.joint_name) for joint in raw.robot.ordered_joints],
        lambda: [str(raw.model.actuator(number).name) for number in range(raw.model.nu)],
    ]
    for read in readers:
        try:
            names = read()
        except (AttributeError, TypeError, KeyError):
            continue
        if len(names) == len(actions.sizes) and all(names):
            return names
    return []
