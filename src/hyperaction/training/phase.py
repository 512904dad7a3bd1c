"""A phase of training: what has happened since the last evaluation."""

from __future__ import annotations

from typing import Any

from hyperaction.training.episodes import Episode


class Phase:
    """What has happened since the last evaluation."""

    def __init__(self, number: int, first: int) -> None:
        self.number, self.first = number, first
        """Which phase it is, and the step before its first."""
        self.episodes: list[Episode] = []
        self.losses: list[float] = []
        self.statistics: dict[str, float] = {}
        """What else there is to log: what the objective gives, as last read, and callbacks' own."""
        self.over = False

    def state_dict(self) -> dict[str, Any]:
        """Everything; of statistics, where there are any."""
        state = vars(self) | {"episodes": [list(episode) for episode in self.episodes]}
        return state if self.statistics else _without_statistics(state)

    def state_like(self) -> Any:
        """What a state looks like that can be loaded; see `hyperaction.runs.state`."""
        like = vars(self) | {"episodes": [[0.0, 0], ...], "losses": [0.0, ...]}
        return like | {"statistics": dict}, _without_statistics(like)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` gave."""
        vars(self).update(state)
        given = state.get("statistics", {})
        self.statistics = {str(name): float(value) for name, value in given.items()}
        self.episodes = [Episode(*episode) for episode in state["episodes"]]


def _without_statistics(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != "statistics"}
