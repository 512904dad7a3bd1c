"""A grid: environments by agents by seeds, written in TOML; every cell is an ordinary run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperaction.agents.config import AgentConfig
from hyperaction.arguments import ArgumentError
from hyperaction.baselines import BASELINES
from hyperaction.baselines.config import described
from hyperaction.errors import unknown
from hyperaction.replay.buffer import replay_bytes
from hyperaction.runs.directory import check_same_settings
from hyperaction.runs.remote import url_of
from hyperaction.runs.schema import UnreadableError
from hyperaction.training.config import TrainConfig, default_preset, parse_train

if TYPE_CHECKING:
    from hyperaction.envs.wrapper import Factored

KEYS = ("environments", "agents", "seeds", "options", "skip")
OF_THE_GRID = ("env", "seed", "out", "fresh", "help", "h")
"""Options of a run that the grid gives, or that would make no sense in it."""


@dataclass(frozen=True)
class Cell:
    """One run of a grid."""

    env: str
    agent: str
    seed: int
    args: tuple[str, ...]
    """The arguments of the command, but for the directory."""
    config: TrainConfig
    """The same, parsed."""
    baseline: str = ""
    """The baseline that it runs, if it trains no agent."""

    @property
    def command(self) -> tuple[str, ...]:
        """The command that runs it, with its arguments but for the directory."""
        return ("baseline", self.baseline, *self.args) if self.baseline else ("train", *self.args)

    @property
    def name(self) -> str:
        """Its directory, within that of the grid."""
        return f"{re.sub(r'[^A-Za-z0-9_.-]', '-', self.env)}/{self.agent}/seed-{self.seed}"

    @property
    def steps(self) -> int:
        """The steps of its run."""
        return self.config.steps

    def with_option(self, name: str, value: Any) -> Cell:
        """The same run, with another value of an option."""
        config = replace(self.config, **{name: value})
        return replace(self, args=(*self.args, f"--{name}", str(value)), config=config)


@dataclass(frozen=True)
class Grid:
    """Environments by agents by seeds."""

    name: str
    environments: tuple[str, ...]
    agents: dict[str, tuple[str, ...]]
    """Agents by the names that the grid gives them, each with its options."""
    seeds: tuple[int, ...]
    skip: tuple[tuple[str, str], ...] = ()
    """Environments and agents that are left out together."""
    baselines: dict[str, str] = field(default_factory=dict)
    """The baselines among the agents."""

    @cached_property
    def cells(self) -> list[Cell]:
        """All runs, seed by seed, so that every comparison grows evenly."""
        return list(self._cells())

    def _cells(self) -> Iterator[Cell]:
        parsed: dict[tuple[str, str], TrainConfig] = {}
        for seed in self.seeds:
            for env in self.environments:
                for agent, args in self.agents.items():
                    if (env, agent) not in self.skip:
                        given = (env, *args, "--seed", str(seed))
                        kind = (default_preset("hgqn", env), agent)
                        if kind not in parsed:
                            parsed[kind] = self._parsed(env, agent)
                        config = replace(parsed[kind], env=env, seed=seed)
                        yield Cell(env, agent, seed, given, config, self.baselines.get(agent, ""))

    def _parsed(self, env: str, agent: str) -> TrainConfig:
        try:
            return parse_train([env, *self.agents[agent]])
        except ValueError as error:
            raise ArgumentError(f"{self.name}, agent {agent}: {error}") from None


def load(name: str) -> Grid:
    """The grid in a file, or one of those that come with the project, by its name."""
    path = Path(name)
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ArgumentError(f"{name} is not text: {error}") from None
    elif name in ready_made():
        text = (files(__package__) / "grids" / f"{name}.toml").read_text()
    else:
        raise ArgumentError(unknown("grid", name, ready_made()))
    try:
        return read(name, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"{name} is not TOML: {error}") from None


def chosen(grid: Grid, *, only: tuple[str, ...] = (), seeds: int = 0, **options: Any) -> list[Cell]:
    """The cells that somebody wants: of these names, of the first seeds, with these options.

    Options that are 0 or empty are left as the grid has them.
    """
    if seeds > len(grid.seeds):
        raise ArgumentError(f"--seeds {seeds}: {grid.name} has {len(grid.seeds)}")
    cells = [cell for cell in grid.cells if cell.seed in grid.seeds[: seeds or None]]
    if only:
        cells = [cell for cell in cells if any(fnmatchcase(cell.name, each) for each in only)]
    if not cells:
        names = f"such as {grid.cells[0].name}"
        raise ArgumentError(f"--only {' '.join(only)} fits no run of {grid.name}, {names}")
    for name, value in options.items():
        cells = [cell.with_option(name, value) if value else cell for cell in cells]
    return cells


def check_same(cells: list[Cell], out: Path) -> dict[Cell, str]:
    """Refuses to resume runs of other settings than the cells'.

    Returns the cells whose directories hold something that is damaged, and what.
    """
    damaged = {}
    for cell in cells:
        there = out / cell.name
        if url_of(out) is None and (there / "config.json").exists():
            try:
                check_same_settings(there, _settings(cell))
            except UnreadableError as error:
                damaged[cell] = str(error)
    return damaged


def check_fits(name: str, cells: list[Cell]) -> int:
    """Refuses environments that cannot be made, and agents that do not fit them.

    Returns the most bytes that the replay of a cell takes.
    """
    made: dict[Any, Factored] = {}
    most = 0
    for cell in cells:
        config = cell.config
        key = (
            cell.env,
            config.env_bins,
            config.action_shape,
            config.action_names,
            config.config.continuous,
        )
        try:
            if key not in made:
                made[key] = config.make_env()
                made[key].close()
            env = made[key]
            _with_edges(config).agent_config.hypergraph(env.sizes)
            size = config.config.buffer_size
            most = max(most, replay_bytes(size, env, len(env.sizes)))
        except (ValueError, RuntimeError) as error:
            raise ArgumentError(f"{name}, {cell.name}: {error}") from None
    return most


def _settings(cell: Cell) -> dict[str, Any]:
    """What the run of a cell writes as its settings."""
    if cell.baseline:
        return described(cell.baseline, cell.config)
    return _with_edges(cell.config).as_dict()


def _with_edges(config: TrainConfig) -> TrainConfig:
    """The run with its hyperedges as numbers of vertices, where its environment says which."""
    return replace(config, config=_agent_config(replace(config, seed=0)))


@cache
def _agent_config(config: TrainConfig) -> AgentConfig:
    return config.with_env_edges().config


MAX_SEEDS = 10_000


def ready_made() -> list[str]:
    """The names of the grids that come with the project."""
    grids = (files(__package__) / "grids").iterdir()
    return sorted(grid.name.removesuffix(".toml") for grid in grids if grid.name.endswith(".toml"))


def read(name: str, table: dict[str, Any]) -> Grid:
    """A grid from its table; what is wrong with it is reported before anything starts."""
    _check_keys(name, table, KEYS)
    environments = _list_of(name, "environments", table.get("environments"), str)
    for env in environments:
        if env.startswith("-") or not env:
            raise ArgumentError(f"{name}: {env!r} is not an environment")
    agents = table.get("agents")
    if not isinstance(agents, dict) or not agents:
        raise ArgumentError(f"{name}: agents are tables such as [agents.hgqn-r2]")
    common = table.get("options", {})
    for label, options in (("options", common), *agents.items()):
        if not isinstance(options, dict):
            raise ArgumentError(f"{name}: {label} is {options!r}, not a table of options")
    for label in agents:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", label):
            raise ArgumentError(f"{name}: the agent {label!r} names a directory; use a-z, 0-9, -_.")
    baselines = {label: own["baseline"] for label, own in agents.items() if "baseline" in own}
    _check_keys(name, baselines.values(), tuple(BASELINES))
    grid = Grid(
        name,
        environments,
        {label: _args(name, {**common, **own}) for label, own in agents.items()},
        _seeds(name, table.get("seeds", 1)),
        _skip(name, table.get("skip", []), environments, list(agents)),
        baselines,
    )
    if not grid.cells:
        raise ArgumentError(f"{name}: everything is skipped")
    names: dict[str, Cell] = {}
    for cell in grid.cells:
        other = names.setdefault(cell.name, cell)
        if other is not cell:
            raise ArgumentError(
                f"{name}: {other.env} and {cell.env} would share the directory {cell.name}"
            )
    return grid


def _args(name: str, options: dict[str, Any]) -> tuple[str, ...]:
    args: list[str] = []
    for key, value in options.items():
        if key == "baseline":
            continue
        option = f"--{key.replace('_', '-')}"
        if key.replace("-", "_") in OF_THE_GRID or any(
            str(each).startswith("--") for each in (value if isinstance(value, list) else [value])
        ):
            raise ArgumentError(
                f"{name}: {option} {value} is not for a grid, which has {', '.join(KEYS)}"
            )
        if isinstance(value, bool):
            args.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, list) and all(_is_plain(each) for each in value):
            args += [option, *map(str, value)]
        elif _is_plain(value):
            args += [option, str(value)]
        else:
            raise ArgumentError(f"{name}: {key} is {value!r}; an option is a number, text or list")
    return tuple(args)


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _seeds(name: str, seeds: Any) -> tuple[int, ...]:
    if isinstance(seeds, int) and not isinstance(seeds, bool) and 1 <= seeds <= MAX_SEEDS:
        return tuple(range(seeds))
    found = _list_of(name, "seeds", seeds, int)
    for seed in found:
        if not 0 <= seed < 2**63:
            raise ArgumentError(f"{name}: the seed {seed} is below 0 or too large")
    return found


def _skip(
    name: str, skip: Any, environments: tuple[str, ...], agents: list[str]
) -> tuple[tuple[str, str], ...]:
    if not isinstance(skip, list):
        raise ArgumentError(f"{name}: skip is a list of tables [[skip]]")
    found = []
    for each in skip:
        if not isinstance(each, dict) or sorted(each) != ["agents", "environment"]:
            raise ArgumentError(f"{name}: [[skip]] has an environment and its agents, not {each}")
        _check_keys(name, [each["environment"]], environments)
        _check_keys(name, _list_of(name, "agents", each["agents"], str), tuple(agents))
        found += [(each["environment"], agent) for agent in each["agents"]]
    return tuple(found)


def _list_of(name: str, key: str, values: Any, kind: type[Any]) -> tuple[Any, ...]:
    right = isinstance(values, list) and all(type(value) is kind for value in values)
    if not right or not values:
        raise ArgumentError(f"{name}: {key} is {values!r}, not a list of {kind.__name__}")
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise ArgumentError(f"{name}: {key} names {twice} twice")
    return tuple(values)


def _check_keys(name: str, keys: Any, known: tuple[str, ...]) -> None:
    for key in keys:
        if key not in known:
            raise ArgumentError(f"{name}: {unknown('name', key, known)}")
