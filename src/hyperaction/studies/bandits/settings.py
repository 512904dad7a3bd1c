"""What the bandit study is: its models and its settings, as data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from hyperaction.hypergraph import HIGHEST, Hypergraph

NUM_VERTICES = 3
MINIBATCH = 32
UPDATES_PER_ITERATION = 100
EFFECTIVE_LEARNING_RATE = 0.0007
MIXER_WIDTH = 10

ModelName = Literal[
    "tabular", "sum-r1", "sum-r2", "sum-r3", "universal-r1", "universal-r2", "universal-r3"
]


@dataclass(frozen=True)
class Model:
    """A predictor of rewards: the orders of its hyperedges and the name of its mixer."""

    orders: tuple[int, ...]
    mixer: Literal["sum", "universal"]

    def hypergraph(self, size: int) -> Hypergraph:
        """The model's hyperedges on three vertices of this many sub-actions."""
        return Hypergraph.of_orders((size,) * NUM_VERTICES, self.orders)


MODELS: dict[ModelName, Model] = {
    "tabular": Model((HIGHEST,), "sum"),
    "sum-r1": Model((1,), "sum"),
    "sum-r2": Model((1, 2), "sum"),
    "sum-r3": Model((1, 2, 3), "sum"),
    "universal-r1": Model((1,), "universal"),
    "universal-r2": Model((1, 2), "universal"),
    "universal-r3": Model((1, 2, 3), "universal"),
}


@dataclass(frozen=True)
class Cell:
    """One model on one size: what is trained at once, and kept in one file."""

    size: int
    model: ModelName

    @property
    def cost(self) -> float:
        """How long one update takes, relative to the others; for the time left."""
        model = MODELS[self.model]
        hypergraph = model.hypergraph(self.size)
        per_edge = 50 if model.mixer == "universal" else 10
        return 40 + per_edge * hypergraph.num_edges + 0.09 * hypergraph.num_outputs


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class BanditStudy:
    """Train predictors on three-dimensional bandits and compare their errors.

    Section 4 and appendix A of the paper: random reward functions that decompose over a hypergraph
    to a good degree, a table, and six action hypergraph networks. Run the same command again to
    continue a study that was interrupted.
    """

    sizes: tuple[int, ...] = (5, 10, 20)
    """Sub-actions per action dimension, one bandit size for each number."""
    trials: int = 64
    """Independent reward functions per size."""
    iterations: int = 400
    """Training iterations, of 100 minibatches each."""
    seed: int = 0
    """Where all random numbers come from."""
    models: tuple[ModelName, ...] = get_args(ModelName)
    """Which models to train."""
    out: Path = Path("results/bandits")
    """The directory for the results."""
    jobs: int = usable_cores()
    """Processes that train at the same time; by default one per core."""

    def __post_init__(self) -> None:
        _check_list("--sizes", self.sizes)
        _check_list("--models", self.models)
        for size in self.sizes:
            _check_range("--sizes", size, 1, 500)
        _check_range("--trials", self.trials, 1, 100_000)
        _check_range("--iterations", self.iterations, 1, 1_000_000)
        _check_range("--seed", self.seed, 0, 2**31 - 1)
        _check_range("--jobs", self.jobs, 1, 1024)

    @property
    def cells(self) -> list[Cell]:
        """Everything to train, by size and then by model."""
        return [Cell(size, model) for size in self.sizes for model in self.models]


def _check_list(option: str, values: tuple[object, ...]) -> None:
    if not values:
        raise ValueError(f"{option} is empty; give at least one")
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{option} names {value} twice; once is allowed")


def _check_range(option: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        nearest = min(max(value, low), high)
        raise ValueError(f"{option} {value} is not in {low} to {high}; the nearest is {nearest}")
