"""Joint masks on a small hypergraph, and what they allow by enumeration."""

import numpy as np

from hyperaction import Hypergraph
from hyperaction.maximise.masks import as_mask
from tests.strategies import slow_representation

GRAPH = Hypergraph.of_orders((3, 2, 2), (1, 2))
ALL = [tuple(int(a) for a in action) for action in GRAPH.all_actions()]
PLACES = [slow_representation(GRAPH, range(GRAPH.num_outputs), action) for action in ALL]
"""The entries of every joint action."""


def given_to_explorer(masks):
    """Masks as an explorer takes them, from rows."""
    return None if masks is None else as_mask(GRAPH, masks)


def slowly_allowed(mask):
    """Every joint action that a mask per entry allows."""
    return [action for action, places in zip(ALL, PLACES, strict=True) if mask[places].all()]


def random_mask(rng, forbidden=0.4):
    """A mask per entry that allows one action at least, and one of those that it allows."""
    mask = rng.random(GRAPH.num_outputs) >= forbidden
    mask[PLACES[rng.integers(len(ALL))]] = True
    allowed = slowly_allowed(mask)
    return mask, allowed[rng.integers(len(allowed))]


def entries_of(sub_actions):
    """The mask per entry that means the same as one per sub-action."""
    starts = np.cumsum(GRAPH.sizes) - GRAPH.sizes
    mask = np.ones(GRAPH.num_outputs, bool)
    for action, places in zip(ALL, PLACES, strict=True):
        for edge, place in zip(GRAPH.edges, places, strict=True):
            mask[place] &= all(sub_actions[starts[v] + action[v]] for v in edge)
    return mask
