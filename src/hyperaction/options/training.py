"""What train and sweep take: environments, agents by name, every setting of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import tyro

from hyperaction.agents.presets import (
    AGENTS,
    AgentName,
    PresetName,
    preset,
    settings_of,
    usual_preset,
    with_rank,
)
from hyperaction.agents.settings import LoopSettings, ValueSettings
from hyperaction.runs import read_config

if TYPE_CHECKING:
    from hyperaction.environments import Environments, Factored
    from hyperaction.environments.faults import Guard

Settings = TypeVar("Settings", bound=LoopSettings)


@dataclass(frozen=True)
class TrainOptions(Generic[Settings]):
    """Train an agent on a Gymnasium environment.

    Phases of training alternate with evaluations in an environment of their own. The defaults shown
    are those of the agent and the preset named beside --help.
    """

    env: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
    """A Gymnasium id, or module:Id."""
    settings: Annotated[Settings, tyro.conf.arg(name="")]
    agent: AgentName = "hgqn"
    """The agent; its settings can be changed one by one below."""
    preset: PresetName = "physical"
    """The paper's settings for physical control or for Atari, or modern ones that learn faster;
    where the environment is a game of ALE/, atari is the default."""
    rank: int = 0
    """All hyperedges up to this order, instead of --orders; 0 leaves --orders."""
    steps: int = 1_000_000
    """Environment steps to train for."""
    phase_steps: int = 10_000
    """Steps of training between evaluations, at least; phases are whole episodes."""
    evaluation_steps: int = 5_000
    """Steps of an evaluation, at least; it is whole episodes; 0 leaves evaluations out."""
    checkpoint_steps: int = 0
    """Steps between checkpoints within a phase; 0 is none but where a phase begins."""
    envs: int = 1
    """Environments that are stepped together; their steps count together too, and learning goes
    with them as with one."""
    seed: int = 0
    """Where all random numbers come from."""
    out: Path = Path("results/run")
    """The directory for the run."""
    fresh: bool = False
    """Put a run that is in the directory aside, and start over."""
    tensorboard: bool = True
    """Write TensorBoard events beside the metrics."""
    env_timeout: float = 600.0
    """Seconds that a step or reset of the environment may take before the run stops; 0: any."""
    max_episode_steps: int = 0
    """The environment's time limit; 0 is its own."""
    roms: str = ""
    """A directory with cartridges of Atari games, instead of those that come with ale-py."""
    bins: tuple[int, ...] = (5,)
    """Sub-actions per dimension of a Box action space: one number, or one per dimension."""
    action_shape: tuple[int, ...] = ()
    """The sizes that a Discrete action space is the product of."""

    def __post_init__(self) -> None:
        for option, least in (
            ("steps", 1),
            ("phase_steps", 1),
            ("evaluation_steps", 0),
            ("checkpoint_steps", 0),
            ("envs", 1),
        ):
            if getattr(self, option) < least:
                flag = f"--{option.replace('_', '-')}"
                raise ValueError(f"{flag} {getattr(self, option)} is below {least}")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"--seed {self.seed} is below 0 or too large")
        if self.max_episode_steps < 0:
            raise ValueError(f"--max-episode-steps {self.max_episode_steps} is below 0")
        if not 0 <= self.env_timeout < math.inf:
            raise ValueError(f"--env-timeout {self.env_timeout} is not a number of seconds")
        if self.rank < 0:
            raise ValueError(f"--rank {self.rank} is below 0")
        if self.roms and usual_preset(self.env) != "atari":
            raise ValueError(f"--roms is for games of ALE/, not {self.env}")
        if self.roms and self.envs > 1:
            raise ValueError(f"--roms plays one game at a time, not --envs {self.envs}")
        _ = self.agent_settings  # What cannot combine is refused now.

    @property
    def agent_settings(self) -> LoopSettings:
        """The agent's settings, with `rank` spelt out as orders."""
        if not self.rank:
            return self.settings
        return with_rank(self.agent, self.settings, self.rank)

    def make_env(self, guard: Guard | None = None) -> Factored:
        """The environment of these options, with its calls inside a guard."""
        from hyperaction import environments  # Late: most mistakes are told before Gymnasium loads.

        return environments.make(
            self.env,
            bins=self.bins,
            action_shape=self.action_shape,
            real_actions=self.agent == "ddpg",
            max_episode_steps=self.max_episode_steps,
            roms=self.roms,
            guard=guard,
        )

    def make_envs(self, guard: Guard | None = None) -> Environments:
        """The environments that a run of these options trains in."""
        from hyperaction import environments

        if self.envs == 1:
            return environments.Single(self.make_env(guard))
        limit = self.max_episode_steps
        return environments.make_several(self.env, self.envs, self.make_env, guard, limit)

    def check_sizes(self, sizes: tuple[int, ...]) -> None:
        """Refuses hyperedges that do not fit an action space."""
        if isinstance(self.agent_settings, ValueSettings):
            self.agent_settings.hypergraph(sizes)

    def config(self) -> dict[str, Any]:
        """Every setting, ready for JSON; where the run is kept is not one of them."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in OWN}
        if self.roms:
            own["roms"] = str(Path(self.roms).resolve())
        return {**own, "settings": asdict(self.agent_settings)}


OWN = ("settings", "rank", "out", "fresh", "tensorboard", "env_timeout", "checkpoint_steps", "roms")
"""Options that are not settings of a run, as they change nothing in its results, and cartridges,
which few runs have of their own."""

RUNS: dict[PresetName, dict[str, Any]] = {
    "physical": {},
    "modern": {},
    "atari": {
        "steps": 50_000_000,
        "phase_steps": 250_000,
        "evaluation_steps": 0,
        "checkpoint_steps": 25_000,
    },
}
"""What a preset changes of a run."""


def defaults(args: list[str]) -> tuple[type[TrainOptions[Any]], TrainOptions[Any]]:
    """The options of the agent and preset that the arguments name, and their defaults."""

    def named(option: str, default: str) -> str:
        found = default  # Of an option that is given twice, the last counts.
        for place, arg in enumerate(args):
            if arg == option and place + 1 < len(args):
                found = args[place + 1]
            elif arg.startswith(f"{option}="):
                found = arg.split("=", 1)[1]
        return found

    agent = named("--agent", "hgqn")
    name: Any = named("--preset", usual_preset(_env_named(args)))
    try:
        settings = preset(agent, name)  # type: ignore[arg-type]
    except KeyError:
        name, settings = "physical", AGENTS["hgqn"]  # The parser tells which names there are.
    kind: Any = TrainOptions.__class_getitem__(type(settings))  # type: ignore[attr-defined]
    return kind, TrainOptions(env=tyro.MISSING, settings=settings, preset=name, **RUNS[name])


def _env_named(args: list[str]) -> str:
    """The environment among arguments: what is no option and no option's value."""
    switches = {f.name.replace("_", "-") for f in fields(ValueSettings) if f.type == "bool"}
    switches |= {"fresh", "tensorboard"}
    flags = {f"--{no}{name}" for name in switches for no in ("", "no-")}
    for before, arg in zip(["", *args], args, strict=False):
        is_value = before.startswith("--") and before not in flags and "=" not in before
        if not arg.startswith("-") and not is_value:
            return arg
    return ""


def run_config(out: Path) -> dict[str, Any]:
    """The settings of a run as they were written, if a run can have them."""
    config = read_config(out)
    try:
        settings = settings_of(config["agent"], config["settings"])
        limit = config.setdefault("max_episode_steps", 0)
        if type(limit) is not int or limit < 0:
            raise ValueError(f"max_episode_steps is {limit!r}")
        if type(roms := config.setdefault("roms", "")) is not str:
            raise ValueError(f"roms is {roms!r}")
    except ValueError as error:
        raise ValueError(f"{out / 'config.json'} is damaged: {error}") from None
    return {**config, "settings": asdict(settings)}


@dataclass(frozen=True)
class SweepOptions:
    """Run a grid of environments, agents and seeds; the same command goes on with what is left."""

    grid: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GRID")]
    """A TOML file, or the name of a ready-made grid such as paper-physical."""
    out: Path = Path("results/sweep")
    """The directory for all runs."""
    only: tuple[str, ...] = ()
    """Only runs whose names fit one of these patterns, such as 'Half*/hgqn-r?/*'."""
    steps: int = 0
    """Steps of every run instead of the grid's; 0 leaves those."""
    roms: str = ""
    """A directory with cartridges of Atari games, instead of those that come with ale-py."""
    seeds: int = 0
    """Only the first so many seeds of the grid; 0 is all."""
    workers: int = 0
    """Runs at once; 0 is one per core."""
    retries: int = 2
    """How often a run that died is taken up again from its checkpoint."""
    ray: str = ""
    """Run on a Ray cluster: its address, auto to join one, local to start one on this machine."""

    def __post_init__(self) -> None:
        for option in ("steps", "seeds", "workers", "retries"):
            if getattr(self, option) < 0:
                raise ValueError(f"--{option} {getattr(self, option)} is below 0")
        if self.ray and self.workers:
            raise ValueError("--workers is for this machine; on Ray the cluster decides")
