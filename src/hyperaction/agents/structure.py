"""Structures: which hyperedges an agent has, and how they change while it learns.

A structure is a frozen dataclass that is asked after every step whether a change is due, and which
hyperedges come next. Values move with the change; see `hyperaction.agents.restructure`. To add one,
write the class here and register it, or pass an object of your own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from hyperaction.agents.growth import check_plain_heads
from hyperaction.agents.parts import check
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph

if TYPE_CHECKING:
    from hyperaction.agents.config import QLearningConfig

Vertices = tuple[int, ...]
Variances = Mapping[Vertices, float]
"""For each set of vertices, the variance of Q over joint actions that it alone explains, on average
over states of replay."""

FIXED_SUMS = ("sum", "mean")
"""The mixers under which values can move between hyperedges."""


class Structure(NamedTuple):
    """The hyperedges that an agent has now."""

    edges: tuple[Vertices, ...]
    width: int
    """Hidden units of each head."""
    stage: int = 0
    """The changes so far."""
    level: int = 0
    """Of the grids of sub-actions, where they grow."""

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return self._asdict() | {"edges": [list(edge) for edge in self.edges]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Structure:
        """What `as_dict` gave."""
        edges = tuple(tuple(edge) for edge in data["edges"])
        return cls(edges, data["width"], data["stage"], data["level"])


STRUCTURE_LIKE: dict[str, Any] = {"edges": [[0, ...], ...], "width": 0, "stage": 0, "level": 0}
"""What a stored structure looks like; see `hyperaction.runs.state`."""


class Change(NamedTuple):
    """The next hyperedges, and why these."""

    edges: tuple[Vertices, ...]
    message: str
    """What a person should know, in one line."""
    shares: list[dict[str, Any]]
    """Of each set of vertices, the share of the variance of Q that it explains, if that was asked
    for, and whether it is among the hyperedges that stay."""


class AbstractStructure:
    """Decides which hyperedges an agent has."""

    changes: ClassVar[bool] = True
    """Whether the hyperedges ever change."""

    def check_config(self, name: str, config: QLearningConfig) -> None:
        """Refuses agents whose values cannot move between hyperedges."""
        check_plain_heads("structure", config)
        if config.heads.hierarchical:
            raise SettingError(f"`structure` {name} and `hierarchical`: give one of them")
        if isinstance(config.mixer, str) and config.mixer not in FIXED_SUMS:
            raise SettingError(
                f"`structure` {name} moves values between hyperedges, which needs the `mixer` sum "
                f"or mean, not {config.mixer}"
            )
        if getattr(config.objective, "covers_vertices_once", False):
            raise SettingError(
                f"`structure` {name} is not for the `objective` branching, whose hyperedges learn "
                f"by themselves"
            )

    def check_hypergraph(self, name: str, hypergraph: Hypergraph) -> None:
        """Refuses hyperedges that such a structure cannot start from."""
        missing = {(vertex,) for vertex in range(hypergraph.num_vertices)} - set(hypergraph.edges)
        if missing:
            raise SettingError(
                f"`structure` {name} needs every vertex by itself among the hyperedges, and "
                f"{min(missing)[0]} is not; choose a `rank`"
            )

    def first(self, hypergraph: Hypergraph) -> tuple[Vertices, ...]:
        """The hyperedges that learning starts with, of those that the settings ask for."""
        return hypergraph.edges

    @abstractmethod
    def is_due(self, step: int, stage: int) -> bool:
        """Whether the hyperedges change after this step, when they have changed so often."""

    @abstractmethod
    def next(
        self, now: Structure, hypergraph: Hypergraph, variances: Callable[[], Variances]
    ) -> Change:
        """The next hyperedges.

        Args:
            now: Those that there are.
            hypergraph: Those that the settings ask for.
            variances: Computes what each set of vertices explains.
        """


@dataclass(frozen=True)
class Fixed(AbstractStructure):
    """The same hyperedges from beginning to end."""

    changes: ClassVar[bool] = False

    def check_config(self, name: str, config: QLearningConfig) -> None:
        """Any agent may have it."""

    def check_hypergraph(self, name: str, hypergraph: Hypergraph) -> None:
        """Any hyperedges may stay."""

    def is_due(self, step: int, stage: int) -> bool:
        """Never."""
        return False

    def next(
        self, now: Structure, hypergraph: Hypergraph, variances: Callable[[], Variances]
    ) -> Change:
        """The same."""
        return Change(now.edges, "", [])


@dataclass(frozen=True)
class GrowEdges(AbstractStructure):
    """Starts at rank 1, and adds the other hyperedges of the settings, those of low order first."""

    at: tuple[int, ...] = (100_000,)
    """The steps at which hyperedges are added, as many at each."""

    def __post_init__(self) -> None:
        check(self)
        if not self.at or min(self.at) < 1 or list(self.at) != sorted(set(self.at)):
            given = " ".join(map(str, self.at))
            raise SettingError(f"`at` must be increasing steps, at least 1, not {given}")

    def first(self, hypergraph: Hypergraph) -> tuple[Vertices, ...]:
        """Every vertex by itself."""
        return tuple(edge for edge in hypergraph.edges if len(edge) == 1)

    def is_due(self, step: int, stage: int) -> bool:
        """Whether one of the steps is reached."""
        return stage < len(self.at) and step >= self.at[stage]

    def next(
        self, now: Structure, hypergraph: Hypergraph, variances: Callable[[], Variances]
    ) -> Change:
        """The next of the hyperedges, in the order of the settings' hypergraph."""
        later = sorted((e for e in hypergraph.edges if len(e) > 1), key=len)
        until = len(later) * (now.stage + 1) // len(self.at)
        present = {*now.edges, *later[:until]}
        edges = tuple(edge for edge in hypergraph.edges if edge in present)
        added = len(edges) - len(now.edges)
        rank = max(map(len, edges))
        message = f"added {added} hyperedges at zero: now {len(edges)}, up to order {rank}"
        return Change(edges, message, [])


@dataclass(frozen=True)
class Auto(AbstractStructure):
    """Starts with all pairs, and keeps those whose interaction explains most of Q's variance."""

    prune_at: int = 100_000
    """The step at which pairs are dropped."""
    choose: Literal["tree", "best"] = "tree"
    """Keep the best tree of pairs, on which maximisation is exact at any size, or the best pairs
    whatever they form."""
    keep: int = 0
    """The most pairs that are kept; 0: as many as a tree has."""
    triples: int = 0
    """The most triples that are added, where all three of their pairs are kept."""
    states: int = 1_000
    """States of replay over which variances are averaged."""

    def __post_init__(self) -> None:
        check(self, at_least={"prune_at": 1, "keep": 0, "triples": 0, "states": 1})
        if self.triples and self.choose == "tree":
            raise SettingError("`triples` needs `choose` best: the pairs of a tree form no triple")

    def check_config(self, name: str, config: QLearningConfig) -> None:
        """Pairs must have been learned before they are ranked."""
        super().check_config(name, config)
        if self.prune_at <= config.learning_starts:
            raise SettingError(
                f"`structure.prune_at` {self.prune_at} must be above `learning_starts`, "
                f"{config.learning_starts}: nothing is learned before"
            )

    def check_hypergraph(self, name: str, hypergraph: Hypergraph) -> None:
        """Vertices and pairs of them."""
        super().check_hypergraph(name, hypergraph)
        if hypergraph.rank != 2:
            raise SettingError(
                f"`structure` {name} chooses among pairs: `rank` must be 2, not {hypergraph.rank}"
            )

    def is_due(self, step: int, stage: int) -> bool:
        """Once."""
        return stage == 0 and step >= self.prune_at

    def next(
        self, now: Structure, hypergraph: Hypergraph, variances: Callable[[], Variances]
    ) -> Change:
        """Every vertex, the chosen pairs, and triples of them."""
        explained = variances()
        total = sum(explained.values()) or 1.0
        pairs: dict[Vertices, float] = {
            edge: explained[edge] / total for edge in now.edges if len(edge) == 2
        }
        limit = self.keep or hypergraph.num_vertices - 1
        kept = chosen_pairs(pairs, limit, tree=self.choose == "tree")
        triples = chosen_triples(kept, pairs, self.triples)
        singles = tuple(edge for edge in now.edges if len(edge) == 1)
        edges = (*singles, *sorted(kept), *triples)
        lost = sum(share for pair, share in pairs.items() if pair not in kept)
        names = ", ".join(f"{_braced(pair)} {_percent(pairs[pair])}" for pair in kept[:8])
        more = f" and {len(kept) - 8} more" if len(kept) > 8 else ""
        added = f"; added {' '.join(map(_braced, triples))} at zero" if triples else ""
        message = (
            f"kept {len(kept)} of {len(pairs)} pairs, {names}{more}; the others' interactions, "
            f"{_percent(lost)} of the variance of Q over joint actions, are dropped{added}"
        )
        shares = [
            {"vertices": list(part), "share": share / total, "kept": part in edges}
            for part, share in explained.items()
        ]
        return Change(edges, message, shares)


def chosen_pairs(shares: Mapping[Vertices, float], limit: int, *, tree: bool) -> list[Vertices]:
    """The pairs of the largest shares, best first; of a tree, no two paths join two vertices."""
    root: dict[int, int] = {}

    def find(vertex: int) -> int:
        while (above := root.get(vertex, vertex)) != vertex:
            vertex = above
        return vertex

    chosen: list[Vertices] = []
    for pair in sorted(shares, key=lambda pair: (-shares[pair], pair)):
        ends = [find(vertex) for vertex in pair]
        if len(chosen) == limit or (tree and ends[0] == ends[1]):
            continue
        root[ends[0]] = ends[1]
        chosen.append(pair)
    return chosen


def chosen_triples(
    pairs: Sequence[Vertices], shares: Mapping[Vertices, float], limit: int
) -> list[Vertices]:
    """Triples whose three pairs are all there, those of the largest shares together first."""
    vertices = sorted({vertex for pair in pairs for vertex in pair}) if limit else []
    there = set(pairs)
    found = {
        triple: sum(shares[pair] for pair in combinations(triple, 2))
        for triple in combinations(vertices, 3)
        if there.issuperset(combinations(triple, 2))
    }
    return sorted(sorted(found, key=lambda triple: (-found[triple], triple))[:limit])


def _braced(part: Vertices) -> str:
    return "{" + ", ".join(map(str, part)) + "}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


STRUCTURES: dict[str, type[Any]] = {"fixed": Fixed, "grow-edges": GrowEdges, "auto": Auto}


def name_of(structure: Any) -> str:
    """The name of a structure, for messages."""
    kinds = {kind: name for name, kind in STRUCTURES.items()}
    return kinds.get(type(structure), type(structure).__name__)


def check_size(structure: Structure, sizes: tuple[int, ...], arrays: dict[str, Any]) -> None:
    """Refuses a description of more than there are weights, before anything is built."""
    hypergraph = Hypergraph(sizes, structure.edges)
    there = sum(array.size for array in arrays.values())
    if structure.width < 1 or hypergraph.num_outputs * structure.width > there:
        raise ValueError("its hyperedges are not those of its weights")
