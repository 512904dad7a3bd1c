"""Which joint actions are allowed, whatever the agent: tables over some vertices, and counts.

A constraint knows the vertices that it is about, and nothing of an agent's hyperedges. Those that
hold in every state are part of `Constraints`. Those that change from state to state are a *mask*:
one flat row of booleans per state, first one for every sub-action of every vertex, then the tables
of the *scopes*, the groups of vertices that are masked together.
"""

from hyperaction.constraints.cardinality import Cardinality, parsed
from hyperaction.constraints.structure import Constraints, Mask, NoAction
from hyperaction.constraints.tables import Scope, Tables, tables_of, vertex_of

__all__ = [
    "Cardinality",
    "Constraints",
    "Mask",
    "NoAction",
    "Scope",
    "Tables",
    "parsed",
    "tables_of",
    "vertex_of",
]
