"""Large bodies: how the cost of the exact greedy action grows with the treewidth."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction.bench.clock import fastest
from hyperaction.bench.settings import BenchMaximise
from hyperaction.envs.kinematics import ROOT, Link, Robot
from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise import maximiser

JOINTS = 38

WIDTHS = {3: 10, 5: 6}
"""The widest bands by sub-actions: past them, tables exceed what the compiled kernel may hold."""


def body() -> Hypergraph:
    """A humanoid with hands: a spine, a neck, legs, arms, and three fingers on each hand."""
    links = [Link("pelvis", ROOT, None)]

    def limb(name: str, parent: int, length: int) -> int:
        for joint in range(length):
            links.append(Link(name, parent, f"{name}_{joint}"))
            parent = len(links) - 1
        return parent

    chest = limb("spine", 0, 4)
    limb("neck", chest, 2)
    for side in ("left", "right"):
        limb(f"{side}_leg", 0, 6)
        hand = limb(f"{side}_arm", chest, 7)
        for finger in range(3):
            limb(f"{side}_finger{finger}", hand, 1)
    robot = Robot(tuple(links), tuple(range(1, len(links))))
    return Hypergraph((5,) * JOINTS, robot.edges())


def band(sub_actions: int, width: int) -> Hypergraph:
    """All pairs of vertices at most so far apart in a row: the treewidth is that distance."""
    pairs = [(a, b) for a in range(JOINTS) for b in range(a + 1, min(a + width + 1, JOINTS))]
    return Hypergraph((sub_actions,) * JOINTS, pairs)


def measure(settings: BenchMaximise) -> list[dict[str, Any]]:
    """Microseconds per state of the exact way, by treewidth."""
    rows = []
    random = np.random.default_rng(settings.seed)
    for sub_actions, widest in WIDTHS.items():
        for width in range(1, widest + 1):
            best = maximiser(band(sub_actions, width), way="elimination")
            shape = (settings.states, best.hypergraph.num_outputs)
            outputs = jnp.asarray(random.normal(size=shape).astype(np.float32))
            find = jax.jit(best.value_and_action)
            repeats = min(settings.repeats, 5)
            seconds = fastest({"best": lambda: find(outputs)}, repeats)["best"]  # noqa: B023
            rows.append(
                {
                    "sub-actions": sub_actions,
                    "width": best.width,
                    "way": best.name,
                    "cost": best.cost,
                    "planned": 1e6 * best.way.seconds(settings.states) / settings.states,
                    "microseconds per state": 1e6 * seconds / settings.states,
                }
            )
    return rows
