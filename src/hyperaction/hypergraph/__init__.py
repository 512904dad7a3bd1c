"""The structure of an action space: vertices, hyperedges and where their values live."""

from hyperaction.hypergraph.checks import HIGHEST, MAX_EDGES, MAX_STRIDES
from hyperaction.hypergraph.structure import Hypergraph

__all__ = ["HIGHEST", "MAX_EDGES", "MAX_STRIDES", "Hypergraph"]
