"""The search space of a run: its settings, what they are now, and values as options."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperaction.agents.schedules import Linear
from hyperaction.agents.search_spaces import Choice, Range, Space, space_for
from hyperaction.arguments import options_of
from hyperaction.errors import SettingError, option, unknown
from hyperaction.hypergraph import Hypergraph
from hyperaction.training.config import TrainConfig

RANK = "rank"
MAX_OUTPUTS = 20_000
"""Ranks that give more outputs than this are not searched."""

Params = Mapping[str, Any]
"""Values of what is searched, by name."""


@dataclass(frozen=True)
class SearchSpace:
    """What is searched, and where the search starts."""

    ranges: Space
    baseline: dict[str, Any]
    """The values of the preset unchanged."""

    def args(self, params: Params) -> tuple[str, ...]:
        """Options of `hyperaction train` for values; none for those of the baseline."""
        found: list[str] = []
        for name, value in params.items():
            if value != self.baseline[name]:
                found += [option(name), *value_text(value).split()]
        return tuple(found)

    def described(self) -> dict[str, Any]:
        """The space, ready for JSON."""
        return {name: list(each) for name, each in self.ranges.items()}


def search_space(
    config: TrainConfig,
    fixed: Sequence[str],
    sizes: Sequence[int],
    *,
    only: Sequence[str] = (),
    file: str = "",
) -> SearchSpace:
    """The search space of a run.

    Args:
        config: The run with the preset unchanged.
        fixed: Options that were given and are therefore not searched.
        sizes: The sub-actions of each vertex.
        only: The names of the settings to search; all without.
        file: A TOML file with another search space.
    """
    now = _values_now(config)
    own = {_whole(name, now): each for name, each in _read(file).items()} if file else {}
    for name in own.keys() - now.keys():
        raise SettingError(f"`space` {file}: {unknown('setting', name, now)}")
    ranges = own or dict(space_for(config.agent, config.preset))
    given = {_whole(flag.removeprefix("--").replace("-", "_"), now) for flag in fixed}
    if {"edges", "orders"} & given:
        given.add(RANK)
    ranges = {name: each for name, each in ranges.items() if name in now and name not in given}
    if only:
        wanted = {_whole(name.replace("-", "_"), now) for name in only}
        for name in wanted - ranges.keys():
            raise SettingError(f"`search`: {unknown('setting', name, ranges)}")
        ranges = {name: each for name, each in ranges.items() if name in wanted}
    if RANK in ranges and not own:
        ranges[RANK] = Range(1, _highest_rank(sizes, ranges[RANK]))
    ranges = {name: _including(name, each, now[name]) for name, each in ranges.items()}
    ranges = {name: each for name, each in ranges.items() if not _is_single(each)}
    if not ranges:
        raise SettingError("nothing is left to search: every setting of the space is given")
    return SearchSpace(ranges, {name: _plain(now[name]) for name in ranges})


def _values_now(config: TrainConfig) -> dict[str, Any]:
    """Every setting of the agent by its whole name, and its rank where it has one."""
    agent = config.agent_config
    now = {each.name: each.default for each in options_of(type(agent), agent)}
    orders = now.get("orders", ())
    has_rank = orders and orders == tuple(range(1, len(orders) + 1)) and not now["edges"]
    if has_rank and not now["heads.action_in"]:
        now[RANK] = len(orders)
    return now


def _whole(name: str, known: Mapping[str, Any]) -> str:
    """The whole name of a setting that may be given by its last part."""
    ends = [each for each in known if each.rsplit(".", 1)[-1] == name]
    return ends[0] if name not in known and len(ends) == 1 else name


def _read(file: str) -> Space:
    """A search space from TOML: a list of values, or a table with low, high and maybe log."""
    try:
        table = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"`space` {file} is not TOML: {error}") from None
    return {name.replace("-", "_"): _range(file, name, each) for name, each in table.items()}


def _range(file: str, name: str, given: Any) -> Range | Choice:
    if isinstance(given, list) and given and all(_is_value(each) for each in given):
        return Choice(tuple(" ".join(map(str, v)) if isinstance(v, list) else v for v in given))
    is_table = isinstance(given, dict) and {"low", "high"} <= given.keys() <= {*Range._fields}
    if is_table and all(isinstance(given[each], int | float) for each in ("low", "high")):
        found = Range(given["low"], given["high"], bool(given.get("log", False)))
        if found.low < found.high and (found.low > 0 or not found.log):
            return found
    raise SettingError(
        f"`space` {file}: {name} must be a list of values, or a table such as "
        f"{{low = 1e-5, high = 1e-3, log = true}}"
    )


def _is_value(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return all(isinstance(each, int | float | str) for each in parts)


def _highest_rank(sizes: Sequence[int], given: Range | Choice) -> int:
    """The highest rank of the range that the action space has, and that is not too large."""
    assert isinstance(given, Range)
    highest = 1
    for rank in range(2, min(int(given.high), len(sizes)) + 1):
        if Hypergraph.of_orders(sizes, range(1, rank + 1)).num_outputs <= MAX_OUTPUTS:
            highest = rank
    return highest


def _including(name: str, each: Range | Choice, value: Any) -> Range | Choice:
    """The range with what the preset has in it."""
    value = _plain(value)
    if isinstance(each, Choice):
        return each if value in each.values else Choice((*each.values, value))
    if not isinstance(value, int | float):
        raise SettingError(
            f"`{name}` is {value} in the preset, which no range from low to high holds: give a "
            f"list of values to search"
        )
    return Range(min(each.low, value), max(each.high, value), each.log)


def _is_single(each: Range | Choice) -> bool:
    return len(each.values) == 1 if isinstance(each, Choice) else each.low == each.high


def _plain(value: Any) -> Any:
    """A value as a choice has it."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return str(value) if isinstance(value, Linear) else value


def value_text(value: Any) -> str:
    """A value as an option; of real numbers three digits, so that a person can type them."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
