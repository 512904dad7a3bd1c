"""How fast greedy joint actions are found, on one core."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hyperaction import kernels
from hyperaction.bench import treewidth
from hyperaction.bench.clock import fastest
from hyperaction.bench.settings import BenchMaximise
from hyperaction.bench.soft import soft_row
from hyperaction.errors import SettingError, unknown
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import Maximiser, maximiser
from hyperaction.maximise.elimination import Elimination
from hyperaction.maximise.program import adds
from hyperaction.networks import MLP, QNetwork

Row = dict[str, Any]
Say = Callable[[str], None]

OBSERVATION = {"HalfCheetah": 26, "Ant": 28}
"""The observations' lengths in the PyBullet domains; other cases take 26."""

NODES = {2: 200_000, 3: 1_000}
"""Nodes of branch and bound, by rank; at rank 3 many more prove nothing either."""

BEST_KNOWN_STEPS = 100_000
"""Tabu steps for the best known value where no solver proves one."""

GROWTH: dict[str, list[tuple[int, tuple[int, ...], int]]] = {
    "vertices (5 sub-actions, rank 2)": [(n, (5,) * n, 2) for n in range(2, 11)],
    "sub-actions (6 vertices, rank 2)": [(k, (k,) * 6, 2) for k in range(2, 13)],
    "rank (6 vertices of 5)": [(r, (5,) * 6, r) for r in range(1, 7)],
    "vertices of a chain (5 sub-actions)": [(n, (5,) * n, 0) for n in (5, 10, 20, 40, 80)],
}
"""Sizes of vertices and ranks by which the cost grows, by series; rank 0 is a chain."""


def cases() -> dict[str, Hypergraph]:
    """What is compared with the forward pass: the paper's dense domains, and sparse hypergraphs."""
    return {
        "HalfCheetah rank 2": Hypergraph.complete((5,) * 6, 2),
        "HalfCheetah rank 3": Hypergraph.complete((5,) * 6, 3),
        "Ant rank 2": Hypergraph.complete((5,) * 8, 2),
        "Ant rank 3": Hypergraph.complete((5,) * 8, 3),
        "chain of 40": Hypergraph((5,) * 40, [(v, v + 1) for v in range(39)]),
        "star of 40": Hypergraph((5,) * 40, [(0, v) for v in range(1, 40)]),
        "tree of 40": Hypergraph((5,) * 40, [((v - 1) // 2, v) for v in range(1, 40)]),
        "body of 38": treewidth.body(),
    }


def large_cases() -> dict[str, Hypergraph]:
    """Past the reach of elimination."""
    return {
        "17 x 5 rank 2": Hypergraph.complete((5,) * 17, 2),
        "17 x 5 rank 3": Hypergraph.complete((5,) * 17, 3),
        "38 x 3 rank 2": Hypergraph.complete((3,) * 38, 2),
    }


def run(settings: BenchMaximise, say: Say) -> dict[str, list[Row]]:
    """Measures everything; rows by table."""
    exact_cases, beyond = cases(), large_cases() if kernels.available() else {}
    for name in settings.cases:
        if name not in (*exact_cases, *beyond):
            raise SettingError(f"`cases`: {unknown('case', name, (*exact_cases, *beyond))}")
    say("what the core can do")
    peak = peak_adds_per_second(settings.repeats)
    exact, soft = [], []
    for name, hypergraph in _chosen(exact_cases, settings).items():
        say(name)
        exact.append(_exact_row(name, hypergraph, settings, peak))
        soft.append(soft_row(name, hypergraph, settings))
    large = []
    for name, hypergraph in _chosen(beyond, settings).items():
        say(name)
        large += _large_rows(name, hypergraph, settings)
    say("growth")
    growth = _growth(settings)
    say("treewidth")
    width = treewidth.measure(settings)
    return {"exact": exact, "soft": soft, "large": large, "growth": growth, "width": width}


def _chosen(found: dict[str, Hypergraph], settings: BenchMaximise) -> dict[str, Hypergraph]:
    names = settings.cases or found
    return {name: hypergraph for name, hypergraph in found.items() if name in names}


def peak_adds_per_second(repeats: int) -> float:
    """The multiply-adds per second of a matrix product, which is near the limit of a core."""
    size = 512
    matrix = jnp.ones((size, size), jnp.float32)
    product = jax.jit(jnp.dot)
    return size**3 / fastest({"product": lambda: product(matrix, matrix)}, repeats)["product"]


def _forward(
    name: str, hypergraph: Hypergraph, settings: BenchMaximise
) -> tuple[Callable[[], Any], jax.Array]:
    """The forward pass of the paper's network on random observations, and its outputs."""
    state_key, network_key, observation_key = jax.random.split(jax.random.key(settings.seed), 3)
    length = OBSERVATION.get(name.split()[0], 26)
    network = QNetwork(hypergraph, MLP((length,), key=state_key), key=network_key)
    observations = jax.random.normal(observation_key, (settings.states, length))
    forward = jax.jit(lambda network, batch: jax.vmap(network.outputs)(batch))
    return lambda: forward(network, observations), forward(network, observations)


def _exact_row(name: str, hypergraph: Hypergraph, settings: BenchMaximise, peak: float) -> Row:
    forward, outputs = _forward(name, hypergraph, settings)
    best = maximiser(hypergraph)
    in_jax = maximiser(hypergraph, use_native=False, budget=1e3)
    find, find_in_jax = jax.jit(best.value_and_action), jax.jit(in_jax.value_and_action)
    times = fastest(
        {
            "forward": forward,
            "best": lambda: find(outputs),
            "jax": lambda: find_in_jax(outputs),
        },
        settings.repeats,
    )
    row: Row = {
        "case": name,
        "way": best.name,
        "exact": best.exact,
        "forward passes": times["best"] / times["forward"],
        "in pure JAX": times["jax"] / times["forward"],
        "microseconds per state": 1e6 * times["best"] / settings.states,
        "planned": 1e6 * best.way.seconds(settings.states) / settings.states,
    }
    if isinstance(best.way, Elimination):
        made = adds(hypergraph, best.way.steps) * settings.states / times["best"]
        row["adds per second"] = made
        row["share of limit"] = made / peak
    if settings.peer_states:
        count = min(settings.peer_states, settings.states)
        seconds, optima = toulbar_optima(hypergraph, np.asarray(outputs[:count]))
        _check_optima(name, np.asarray(find(outputs)[0])[:count], optima)
        row["times pytoulbar2"] = (seconds / count) / (times["best"] / settings.states)
    return row


def _check_optima(name: str, values: NDArray[Any], optima: NDArray[Any]) -> None:
    """A benchmark of wrong answers would be worthless."""
    wrong = np.abs(values - optima) > 1e-4 * np.maximum(1.0, np.abs(optima))
    if wrong.any():
        raise RuntimeError(f"{name}: pytoulbar2 finds other maxima in {wrong.sum()} states")


def _large_rows(name: str, hypergraph: Hypergraph, settings: BenchMaximise) -> list[Row]:
    """Approximate and bounded ways, compared with pytoulbar2's optima or the best value known."""
    forward, outputs = _forward(name, hypergraph, settings)
    random = np.random.default_rng(settings.seed)
    drawn = jnp.asarray(random.normal(size=outputs.shape).astype(np.float32))
    rows = []
    for kind, tables in (("network", outputs), ("normal", drawn)):
        known, proven = _best_known(hypergraph, tables, settings, kind)
        for way in ("ascent", "ascent, bounded", "branch-and-bound"):
            best = maximiser(hypergraph, way=way.split(",")[0], nodes=NODES[hypergraph.rank])
            find = jax.jit(best.bounded)
            timed = jax.jit(best.value_and_action) if way == "ascent" else find
            repeats = min(settings.repeats, 3)
            times = fastest({"forward": forward, "best": lambda: timed(tables)}, repeats)  # noqa: B023
            found = find(tables)
            values = np.asarray(found.value)[: len(known)]
            bounds = np.asarray(found.upper_bound)[: len(known)]
            rows.append(
                {
                    "case": name,
                    "tables": kind,
                    "way": way,
                    "forward passes": times["best"] / times["forward"],
                    "microseconds per state": 1e6 * times["best"] / settings.states,
                    "planned": _planned(best, way, settings.states),
                    "reference": "optimum" if proven else "best known",
                    "share reached": float(np.mean(values >= known - 1e-5 * np.abs(known))),
                    "largest loss": float(np.max((known - values) / np.abs(known))),
                    "mean gap": float(np.mean((bounds - values) / np.abs(values))),
                    "share proven": float(np.mean(bounds <= values + 1e-4 * np.abs(values))),
                }
            )
    return rows


def _planned(best: Maximiser, way: str, states: int) -> float | None:
    """Microseconds per state as planned; bounds that are asked for are not."""
    return None if way == "ascent, bounded" else 1e6 * best.way.seconds(states) / states


def _best_known(
    hypergraph: Hypergraph, tables: jax.Array, settings: BenchMaximise, kind: str
) -> tuple[NDArray[Any], bool]:
    """Optima where pytoulbar2 proves them within reason, else the best of three long searches.

    The searches have other random numbers than the one they are compared with.
    """
    from hyperaction.maximise.search import structure

    provable = hypergraph.num_vertices <= 20 and hypergraph.rank <= 2 and kind == "network"
    if settings.peer_states and provable:
        return toulbar_optima(hypergraph, np.asarray(tables[: settings.peer_states]))[1], True
    plan = structure(hypergraph)
    found = []
    for seed in (1, 2, 3):
        search = partial(kernels.search, structure=plan, steps=BEST_KNOWN_STEPS, seed=seed)
        actions, _ = jax.jit(search)(tables)
        found.append(np.asarray(hypergraph.representation(tables, actions).sum(axis=-1)))
    return np.max(found, axis=0), False


def toulbar_optima(hypergraph: Hypergraph, outputs: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    """The seconds that pytoulbar2 spends solving, problem building left out, and the optima.

    Costs are rounded to six decimals.
    """
    import pytoulbar2

    seconds, optima = 0.0, []
    for one in outputs:
        problem = pytoulbar2.CFN(resolution=6, vac=0, verbose=-1)
        for vertex, size in enumerate(hypergraph.sizes):
            problem.AddVariable(f"v{vertex}", range(size))
        for edge, part in zip(hypergraph.edges, hypergraph.slices, strict=True):
            costs = (-one[part].astype(float)).tolist()
            problem.AddFunction([f"v{vertex}" for vertex in edge], costs)
        start = time.process_time()
        solution = problem.Solve()
        seconds += time.process_time() - start
        optima.append(-solution[1])
    return seconds, np.array(optima)


def _growth(settings: BenchMaximise) -> list[Row]:
    """Microseconds per state of the exact way, varying one thing at a time."""
    rows = []
    for name, points in GROWTH.items():
        for x, sizes, rank in points:
            edges = [(v, v + 1) for v in range(len(sizes) - 1)]
            hypergraph = Hypergraph.complete(sizes, rank) if rank else Hypergraph(sizes, edges)
            best = maximiser(hypergraph, budget=1e3)
            random = np.random.default_rng(settings.seed)
            shape = (settings.states, hypergraph.num_outputs)
            outputs = jnp.asarray(random.normal(size=shape).astype(np.float32))
            find = jax.jit(best.value_and_action)
            repeats = min(settings.repeats, 5)
            seconds = fastest({"best": lambda: find(outputs)}, repeats)["best"]  # noqa: B023
            rows.append(
                {
                    "series": name,
                    "x": x,
                    "joint actions": hypergraph.num_actions,
                    "way": best.name,
                    "cost": best.cost,
                    "planned": 1e6 * best.way.seconds(settings.states) / settings.states,
                    "microseconds per state": 1e6 * seconds / settings.states,
                }
            )
    return rows
