"""What PyTorch's path takes in times of JAX's, on one core: best actions, and whole updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from hyperaction.bench.clock import fastest
from hyperaction.bench.maximise import cases
from hyperaction.bench.settings import BenchTorch
from hyperaction.blocks import Blocks
from hyperaction.errors import SettingError, unknown
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import maximiser
from hyperaction.torch import HypergraphHead, maximise

FEATURES = 400
"""The features of the paper's state network for robots."""

CALLS = 5
"""Calls per measurement: one alone is too short for the clock."""

Row = dict[str, Any]


def run(settings: BenchTorch, say: Callable[[str], None]) -> list[Row]:
    """Measures everything; a row per case."""
    torch.set_num_threads(1)
    known = cases()
    for name in settings.cases:
        if name not in known:
            raise SettingError(f"`cases`: {unknown('case', name, known)}")
    rows = []
    for name, hypergraph in known.items():
        if name in (settings.cases or known):
            say(name)
            rows.append({"case": name, **_row(hypergraph, settings)})
    return rows


def _row(hypergraph: Hypergraph, settings: BenchTorch) -> Row:
    random = np.random.default_rng(settings.seed)
    outputs = random.normal(size=(settings.states, hypergraph.num_outputs)).astype(np.float32)
    best = maximiser(hypergraph)
    find = jax.jit(best.value_and_action)
    works: dict[str, Callable[[], Any]] = {}
    for kind, batch in (("batch", outputs), ("one", outputs[:1])):
        array, tensor = jnp.asarray(batch), torch.from_numpy(batch)
        works[f"{kind} in JAX"] = _times(lambda array=array: find(array))  # type: ignore[misc]
        works[kind] = _times(lambda tensor=tensor: maximise(hypergraph, tensor))  # type: ignore[misc]
    works |= _updates(hypergraph, settings, random)
    times = {name: 1e6 * each / CALLS for name, each in fastest(works, settings.repeats).items()}
    return {
        "way": best.name,
        "microseconds": times["batch"],
        "maximum": times["batch"] / times["batch in JAX"],
        "maximum of one": times["one"] / times["one in JAX"],
        "update": times["update"] / times["update in JAX"],
    }


def _times(work: Callable[[], Any]) -> Callable[[], Any]:
    def several() -> Any:
        for _ in range(CALLS):
            jax.block_until_ready(result := work())  # type: ignore[no-untyped-call]
        return result

    return several


def _updates(
    hypergraph: Hypergraph, settings: BenchTorch, random: np.random.Generator
) -> dict[str, Callable[[], Any]]:
    """The loss of a batch and its gradients, with best values of next states, of the same head."""
    shape = (2, settings.states, FEATURES)
    features = random.normal(size=shape).astype(np.float32)
    actions = random.integers(hypergraph.sizes, size=(settings.states, hypergraph.num_vertices))
    blocks = Blocks(hypergraph, FEATURES, key=jax.random.key(settings.seed))
    best = maximiser(hypergraph)

    def loss(blocks: Blocks, features: Any, actions: Any) -> Any:
        values = jax.vmap(lambda x, a: blocks.representation(blocks.heads(x), a).sum())(
            features[0], actions
        )
        outputs = jax.vmap(lambda x: blocks.outputs(blocks.heads(x)))(features[1])
        return jnp.mean((jax.lax.stop_gradient(best.max(outputs)) - values) ** 2)

    gradient = jax.jit(jax.value_and_grad(loss))
    head = HypergraphHead.from_blocks(blocks)
    now, after = torch.from_numpy(features)
    chosen = torch.from_numpy(actions)

    def update() -> Any:
        with torch.no_grad():
            target = head.max(after)
        head.zero_grad()
        (target - head.q_values(now, chosen)).square().mean().backward()  # type: ignore[no-untyped-call]

    given = jnp.asarray(features), jnp.asarray(actions, jnp.int32)
    return {"update in JAX": _times(lambda: gradient(blocks, *given)), "update": _times(update)}
