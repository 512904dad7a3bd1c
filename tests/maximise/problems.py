"""Plans, masks and slow references that tests of maximisation share."""

import numpy as np

from hyperaction import Sum, maximiser
from hyperaction.maximise.masks import mask_of_entries
from tests.strategies import (
    HAS_KERNEL,
    slow_representation,
    slow_values,
)

KINDS = ["native", "jax"] if HAS_KERNEL else ["jax"]


def plan(hypergraph, mixer=Sum(), kind="native", **options):
    return maximiser(hypergraph, mixer, use_native=kind == "native" and HAS_KERNEL, **options)


def assert_best(hypergraph, outputs, values, actions, mix=sum, allowed=None):
    """Values and actions are the brute-force maximum over allowed actions, for a batch."""
    for row, (one, value, action) in enumerate(
        zip(outputs, np.asarray(values), np.asarray(actions), strict=True)
    ):
        reference = slow_values(hypergraph, one, mix)
        if allowed is not None:
            reference = {a: v for a, v in reference.items() if allowed(row, a)}
        scale = max(1.0, np.abs(one[np.isfinite(one)]).max(initial=0) * hypergraph.num_edges)
        if not reference:
            assert value == -np.inf
            assert (action == -1).all()
            continue
        assert abs(value - max(reference.values())) <= 1e-5 * scale
        assert abs(reference[tuple(action.tolist())] - value) <= 1e-5 * scale


def random_mask(hypergraph, batch, seed, share=0.7):
    random = np.random.default_rng(seed + 1000)
    return random.random((batch, hypergraph.num_outputs)) < share


def given_mask(hypergraph, mask):
    """A mask with a row per state and an entry per output, as methods of maximisers take it."""
    return None if mask is None else mask_of_entries(hypergraph, mask)


def slow_allowed(hypergraph, mask):
    return lambda row, action: all(slow_representation(hypergraph, mask[row], action))
