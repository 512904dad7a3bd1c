"""Which way to maximise: decided once, from the structure alone."""

from __future__ import annotations

from hyperaction.hypergraph import Hypergraph
from hyperaction.maximise.decentralised import Decentralised
from hyperaction.maximise.enumeration import Enumeration
from hyperaction.maximise.interface import AbstractWay, Maximiser
from hyperaction.mixers import AbstractMixer, Sum


def maximiser(hypergraph: Hypergraph, mixer: AbstractMixer = Sum()) -> Maximiser:
    """What finds the best joint action of a hypergraph under a mixer."""
    way: AbstractWay = Enumeration()
    if hypergraph.rank == 1 and mixer.monotonic:
        way = Decentralised()
    return Maximiser(mixer=mixer, hypergraph=hypergraph, way=way)
