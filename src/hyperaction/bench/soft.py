"""How long soft values, marginals and draws take, relative to the maximum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction.bench.clock import fastest
from hyperaction.bench.settings import BenchMaximise
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import maximiser

WARM, COLD = 5.0, 0.01
"""Temperatures for normal outputs: what floats can hold, and what needs exponents of its own."""


def soft_row(name: str, hypergraph: Hypergraph, settings: BenchMaximise) -> dict[str, Any]:
    """The times of one case in times of its maximum."""
    best = maximiser(hypergraph)
    shape = (settings.states, hypergraph.num_outputs)
    random = np.random.default_rng(settings.seed)
    outputs = jnp.asarray(random.normal(size=shape).astype(np.float32))
    key = jax.random.key(settings.seed)
    hard, soft = jax.jit(best.max), jax.jit(best.soft)
    marginals, draw = jax.jit(best.marginals), jax.jit(best.sample)
    works: dict[str, Callable[[], Any]] = {"maximum": partial(hard, outputs)}
    for kind, temperature in (("warm", jnp.float32(WARM)), ("cold", jnp.float32(COLD))):
        works[f"{kind} value"] = partial(soft, outputs, temperature)
        works[f"{kind} marginals"] = partial(marginals, outputs, temperature)
        works[f"{kind} draw"] = partial(draw, outputs, temperature, key)
    times = fastest(works, settings.repeats)
    maximum = times.pop("maximum")
    ratios = {work: seconds / maximum for work, seconds in times.items()}
    return {"case": name, "maximum": 1e6 * maximum / settings.states, **ratios}
