"""The settings of the hyperedges' heads."""

from __future__ import annotations

from dataclasses import dataclass

from hyperaction.agents.parts import added, check
from hyperaction.errors import SettingError
from hyperaction.hypergraph import Hypergraph


@dataclass(frozen=True)
class Heads:
    """The hyperedges' heads."""

    total_width: int = 400
    """Hidden units over all heads, and of the value stream; 0: heads are linear."""
    width_multiple: int = 5
    """Each head's share of them is rounded up to a multiple of this."""
    dueling: bool = False
    """A value stream beside the centred mixed values."""
    critics: int = added(1)
    """Networks that estimate values side by side; actions are those of their mean. 0: two where
    other settings allow several, else one."""
    shared_state: bool = added(True)
    """Critics share the state network, instead of one each."""
    hierarchical: bool = added(False)
    """With `grow`, a sub-action has the value of its parent on the coarser grid plus its own, which
    starts at zero."""
    action_in: bool = added(False)
    """The action goes into the network, which gives its one value: no heads, and no hyperedges."""

    def __post_init__(self) -> None:
        check(self, at_least={"total_width": 0, "width_multiple": 1, "critics": 0})
        if self.dueling and not self.total_width:
            raise SettingError("`dueling` needs hidden units: `total_width` must be at least 1")

    def width_of(self, hypergraph: Hypergraph) -> int:
        """Hidden units of each head."""
        from hyperaction.blocks import head_width

        return head_width(hypergraph.num_edges, self.total_width, self.width_multiple)
