"""The models and the settings of the bandit study."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from hyperaction.errors import check_ranges
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
        """The hyperedges of the model on three vertices with `size` sub-actions each."""
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
    """A model at a size, trained as a unit and stored in one file."""

    size: int
    model: ModelName

    @property
    def cost(self) -> float:
        """The relative duration of an update, to estimate the time left."""
        model = MODELS[self.model]
        hypergraph = model.hypergraph(self.size)
        per_edge = 50 if model.mixer == "universal" else 10
        return 40 + per_edge * hypergraph.num_edges + 0.09 * hypergraph.num_outputs


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class BanditStudy:
    """Train predictors on three-dimensional bandits and compare their errors.

    Section 4 and appendix A of the paper: random reward functions that approximately decompose over
    a hypergraph, a table, and six action hypergraph networks. Rerun the same command to resume an
    interrupted study.
    """

    sizes: tuple[int, ...] = (5, 10, 20)
    """Sub-actions per action dimension; each number is a bandit size."""
    trials: int = 64
    """Independent reward functions per size."""
    iterations: int = 400
    """Training iterations, of 100 minibatches each."""
    seed: int = 0
    """The random seed."""
    models: tuple[ModelName, ...] = get_args(ModelName)
    """The models to train."""
    out: Path = Path("results/bandits")
    """The directory for the results."""
    jobs: int = usable_cores()
    """Parallel processes; one per core by default."""

    def __post_init__(self) -> None:
        _check_list("--sizes", self.sizes)
        _check_list("--models", self.models)
        if not all(1 <= size <= 500 for size in self.sizes):
            sizes = " ".join(map(str, self.sizes))
            raise ValueError(f"--sizes {sizes}: each must be from 1 to 500")
        check_ranges(
            self,
            trials=(1, 100_000),
            iterations=(1, 1_000_000),
            seed=(0, 2**31 - 1),
            jobs=(1, 1024),
        )

    @property
    def cells(self) -> list[Cell]:
        """All cells, by size and then by model."""
        return [Cell(size, model) for size in self.sizes for model in self.models]


def _check_list(option: str, values: tuple[object, ...]) -> None:
    if not values:
        raise ValueError(f"{option} is empty; give at least one value")
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{option} contains {value} twice")
