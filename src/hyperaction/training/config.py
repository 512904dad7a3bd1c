"""The configuration of a run: what to train, where and for how long."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hyperaction.agents.config import AUTO, AgentConfig
from hyperaction.agents.growth import with_bins
from hyperaction.agents.parts import CUSTOM, implied_parts, to_dict, with_changes
from hyperaction.agents.presets import (
    AGENTS,
    AgentName,
    PresetName,
    check_structure,
    config_for,
    has_preset_orders,
    restored,
    with_fitting_orders,
    with_rank,
)
from hyperaction.arguments import (
    Option,
    Positional,
    blame,
    check_required,
    flags_of,
    options_of,
    resolve,
    scan,
    show_help,
)
from hyperaction.constraints import NoAction, parsed
from hyperaction.envs.bins import as_options
from hyperaction.envs.ids import game_of, is_robot
from hyperaction.errors import SettingError, unknown
from hyperaction.references import is_reference
from hyperaction.runs.loggers import DEFAULT, LOGGERS, check_installed
from hyperaction.runs.reader import CONFIG, read_config
from hyperaction.runs.schema import UnreadableError

if TYPE_CHECKING:
    from hyperaction.envs.guard import Guard
    from hyperaction.envs.vector import Environments
    from hyperaction.envs.wrapper import Factored


@dataclass(frozen=True)
class TrainConfig:
    """Train an agent on a Gymnasium environment.

    Phases of training alternate with evaluations in an environment of their own. The defaults shown
    are those of the environment, agent and preset given beside --help, and the settings shown are
    those of the chosen parts. A setting may be given by the last part of its name where that is
    unambiguous: --learning-rate for --optimiser.learning-rate.
    """

    env: Annotated[str, Positional("ENV")]
    """A Gymnasium id, module:Id, or an environment of a suite, such as jumanji:BinPack-v2."""
    config: AgentConfig = field(metadata={"hidden": True})
    """The agent's own settings."""
    agent: AgentName = "hgqn"
    """The agent."""
    preset: PresetName = "modern"
    """Settings that learn fast: modern for robots, small for other problems, and atari for games of
    ALE/, each the default there; the paper's for physical control (physical); or those of DecQN or
    REValueD."""
    rank: int = 0
    """All hyperedges up to this order, instead of --orders; 0 leaves --orders."""
    steps: int = 1_000_000
    """Environment steps to train for; the episode under way may finish."""
    phase_steps: int = 10_000
    """Steps of training between evaluations, at least; phases are whole episodes."""
    evaluation_steps: int = 5_000
    """Steps of an evaluation, at least; it is whole episodes; 0 leaves evaluations out."""
    checkpoint_steps: int = 0
    """Steps between checkpoints within a phase; 0 saves only where a phase begins."""
    num_envs: int = 1
    """Environments that are stepped together; all their steps count, and there are as many
    updates per step as with one."""
    seed: int = 0
    """Where all random numbers come from."""
    out: Path = Path("results/run")
    """The directory for the run."""
    fresh: bool = False
    """Move a run that is in the directory aside, and start over."""
    keep_best: bool = False
    """Keep the agent of the best evaluation too, in best.safetensors."""
    stop_at: float | None = None
    """Stop as soon as an evaluation has a return of at least this."""
    patience: int = 0
    """Stop when so many evaluations in a row were no better than the best before; 0: never."""
    callback: tuple[str, ...] = ()
    """Callbacks of your own, as module:Class."""
    loggers: tuple[str, ...] = field(
        default=DEFAULT,
        metadata={"names": "hyperaction.runs.loggers:LOGGERS", "by_reference": True},
    )
    """Where metrics go besides metrics.jsonl; without a name, nowhere else; module:Class is one of
    your own."""
    env_timeout: float = 600.0
    """Seconds that a step or reset of the environment may take before the run stops; 0: any."""
    max_episode_steps: int = 0
    """The environment's time limit; 0 is its own."""
    roms: str = ""
    """A directory with cartridges of Atari games, instead of those that come with ale-py."""
    bins: tuple[int | str, ...] = (5,)
    """Sub-actions per dimension of a Box action space: one number, or one per dimension; of the
    Box parts of a Dict or Tuple, by name: 5 arm=3 power=3,9; with --grow, those of each level."""
    action_shape: tuple[int, ...] = ()
    """The sizes that a Discrete action space is the product of."""
    constraints: tuple[str, ...] = ()
    """What is allowed in every state: 'at most 2', 'at least 1 of power,fire', 'exactly 1 default
    4', or a .json file that maps vertices to tables."""
    no_action: NoAction = "stop"
    """Where a mask leaves no action: stop, take sub-action 0 of every vertex, or ignore the
    mask."""
    action_names: tuple[str, ...] = ()
    """The names of the vertices, instead of the environment's."""
    has_own_orders: bool = field(default=False, metadata={"hidden": True})
    """Whether the orders of hyperedges were given; those of a preset fit the actions."""
    plain_observations: bool = field(default=False, metadata={"hidden": True})
    """Whether observations are as in earlier versions, one of which began the run."""

    def __post_init__(self) -> None:
        ones = dict.fromkeys(("steps", "phase_steps", "num_envs"), 1)
        zeros = ("evaluation_steps", "checkpoint_steps", "max_episode_steps", "rank", "patience")
        for name, least in (ones | dict.fromkeys(zeros, 0)).items():
            if getattr(self, name) < least:
                raise SettingError(f"`{name}` must be at least {least}, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**63:
            raise SettingError(f"`seed` must be from 0 to 2^63 - 1, not {self.seed}")
        if not 0 <= self.env_timeout < math.inf:
            raise SettingError(f"`env_timeout` must be a number of seconds, not {self.env_timeout}")
        for name in self.loggers:
            if name not in LOGGERS and not is_reference(name):
                raise SettingError(f"`loggers`: {unknown('logger', name, LOGGERS)}")
            check_installed(name)
        for name in self.callback:
            if not is_reference(name):
                raise SettingError(
                    f"`callback` {name}: write module:Class, such as parts:MyCallback"
                )
        self._check_evaluations()
        if self.roms and not game_of(self.env):
            raise SettingError(f"`roms` is for games of ALE/, not {self.env}")
        if self.roms and self.num_envs > 1:
            raise SettingError(f"`roms` plays one game at a time, not `num_envs` {self.num_envs}")
        object.__setattr__(self, "constraints", tuple(map(_constraint_text, self.constraints)))
        _ = self.agent_config  # What cannot combine is refused now.

    def _check_evaluations(self) -> None:
        """Refuses what only evaluations can decide where there are none."""
        asked = {"keep_best": self.keep_best, "stop_at": self.stop_at is not None}
        for name, is_asked in (asked | {"patience": self.patience > 0}).items():
            if is_asked and not self.evaluation_steps:
                raise SettingError(
                    f"`{name}` needs evaluations, which `evaluation_steps` 0 leaves out"
                )
        if self.stop_at is not None and not math.isfinite(self.stop_at):
            raise SettingError(f"`stop_at` must be a finite number, not {self.stop_at}")

    @property
    def agent_config(self) -> AgentConfig:
        """The agent's settings, with `rank` written out as orders."""
        config = with_rank(self.agent, self.config, self.rank) if self.rank else self.config
        check_structure(self.agent, config)
        return with_bins(config, self._all_bins)[0]

    @property
    def env_bins(self) -> tuple[int | str, ...]:
        """The bins of the action space: the last level's, where they are levels."""
        return with_bins(self.config, self._all_bins)[1]

    @property
    def _all_bins(self) -> tuple[int | str, ...]:
        """The bins, with the preset's for parts without any."""
        return as_options(self.bins, RUNS[self.preset].get("bins", (5,)))

    def make_env(self, guard: Guard | None = None) -> Factored:
        """One environment of the run, with its calls inside a guard."""
        from hyperaction.envs.make import make  # Most mistakes are reported before Gymnasium loads.

        return make(
            self.env,
            bins=self.env_bins,
            action_shape=self.action_shape,
            action_names=self.action_names,
            real_actions=self.config.continuous,
            max_episode_steps=self.max_episode_steps,
            roms=self.roms,
            constraints=[parsed(text) for text in self.constraints],
            no_action=self.no_action,
            plain_observations=self.plain_observations,
            guard=guard,
        )

    def make_envs(self, guard: Guard | None = None) -> Environments:
        """The environments that a run trains in."""
        from hyperaction.envs.make import make_vector
        from hyperaction.envs.vector import Single

        if self.num_envs == 1:
            return Single(self.make_env(guard))
        limit = self.max_episode_steps
        return make_vector(self.env, self.num_envs, self.make_env, guard, limit)

    def with_env_edges(self, env: Factored | None = None) -> TrainConfig:
        """The run with hyperedges as numbers of vertices, not by names; see `env_edges`.

        Without an environment, one is made where it is needed.
        """
        from hyperaction.training.env_edges import needs_env, with_env_edges

        if env is not None:
            config = self.config
            if not self.rank and not self.has_own_orders:
                vertices = len(env.actions.names)
                config = with_fitting_orders(self.agent, self.preset, config, vertices)
            return replace(self, config=with_env_edges(config, env.env, env.actions.names))
        has_joystick = game_of(self.env) and not self.action_shape
        is_fixed = has_joystick or not has_preset_orders(self.agent, self.preset, self.config)
        if is_fixed and not needs_env(self.config):
            return self
        with closing(self.make_env()) as made:
            return self.with_env_edges(made)

    def as_dict(self) -> dict[str, Any]:
        """Every setting that changes results, ready for JSON."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NOT_IN_CONFIG}
        if self.roms:
            own["roms"] = str(Path(self.roms).resolve())
        if self.action_names:
            own["action_names"] = list(self.action_names)
        for name in ("constraints", "no_action"):  # Not stored where nothing is said.
            if own[name] == TrainConfig.__dataclass_fields__[name].default:
                del own[name]
        return {**own, "settings": to_dict(self.agent_config)}


def _constraint_text(given: str) -> str:
    """A constraint, checked; what a file says in its place."""
    try:
        text = Path(given).read_text() if given.endswith(".json") else given
        parsed(text)
    except (OSError, ValueError) as error:
        raise SettingError(f"`constraints`: {error}") from None
    return " ".join(text.split())


NOT_IN_CONFIG = (
    "config", "rank", "out", "fresh", "loggers", "env_timeout", "checkpoint_steps", "roms",
    "action_names", "plain_observations", "keep_best", "stop_at", "patience", "callback",
    "has_own_orders",
)  # fmt: skip
"""Options that are not stored with a run, as they change nothing in its results; and cartridges and
names of vertices, which are stored where there are any."""

RUNS: dict[PresetName, dict[str, Any]] = {
    "physical": {},
    "modern": {},
    "small": {},
    "decqn": {"bins": (3,)},
    "revalued": {"bins": (3,)},
    "atari": {
        "steps": 50_000_000,
        "phase_steps": 250_000,
        "evaluation_steps": 0,
        "checkpoint_steps": 25_000,
    },
}
"""What a preset changes of a run."""


def default_preset(agent: AgentName, env: str) -> PresetName:
    """The preset that an agent has in an environment where none is given.

    Args:
        agent: The agent.
        env: The environment's id; empty if it has none.
    """
    if game_of(env):
        return "atari"
    if agent in AGENTS and AGENTS[agent].continuous:
        return "physical"
    return "modern" if is_robot(env) else "small"


def parse_train(args: Sequence[str], command: str = "train") -> TrainConfig:
    """The run that arguments describe, given in any order."""
    with blame(command):
        wants_help = any(arg in ("-h", "--help") for arg in args)
        given = scan(_all_flags(), [arg for arg in args if arg not in ("-h", "--help")])
        assert given is not None
        agent, preset = _named(given, "--agent", "hgqn"), _named(given, "--preset", "")
        env = _named(given, "ENV", "")
        preset = preset or default_preset(agent, env)  # type: ignore[arg-type]
        base = config_for(agent, preset)  # type: ignore[arg-type]
        config = with_changes(base, _chosen_parts(base, given))
        known = [*_run_options(preset, agent), *options_of(type(config), config, group="agent")]
        if wants_help:
            show_help(command, TrainConfig.__doc__ or "", known)
        values = resolve(known, given)
        check_required(known, values)
        own = {each.name for each in fields(TrainConfig)}
        changes = {name: value for name, value in values.items() if name not in own}
        options = {name: value for name, value in values.items() if name in own}
        options = {"agent": agent, "preset": preset} | RUNS[preset] | options  # type: ignore
        options["has_own_orders"] = "orders" in values
        return TrainConfig(config=with_changes(config, changes), **options)


def _run_options(preset: str, agent: str) -> Iterator[Option]:
    """The options of a run, with what the preset changes of them."""
    changed = {"preset": preset, "agent": agent} | RUNS[preset]  # type: ignore[index]
    for each in options_of(TrainConfig):
        yield replace(each, default=changed.get(each.name, each.default))


def _all_flags() -> dict[str, Option]:
    """Every flag of any agent and any of its parts, so that one parse understands all of them."""
    options = {each.name: each for each in options_of(TrainConfig)}
    short: dict[str, Option] = {}
    for kind in dict.fromkeys(type(config) for config in AGENTS.values()):
        for each in _with_all_parts(kind):
            options.setdefault(each.name, each)
            if "." in each.name:
                end = each.name.rsplit(".", 1)[-1]
                short.setdefault(end, replace(each, name=end))
    return flags_of((short | options).values())


def _with_all_parts(kind: type[Any]) -> Iterator[Option]:
    yield from options_of(kind)
    for each in fields(kind):
        for part in each.metadata.get("registry", {}).values():
            yield from options_of(part, prefix=f"{each.name}.")


def _named(given: Any, flag: str, default: str) -> str:
    return given[flag][0] if given.get(flag) else default


def _chosen_parts(config: AgentConfig, given: Any) -> dict[str, Any]:
    """The parts that were chosen by name, such as --optimiser rmsprop, or by their settings."""
    names = [each.name for each in fields(config) if "registry" in each.metadata]
    chosen = {name: given[f"--{name}"][0] for name in names if f"--{name}" in given}
    if "structure" in names and given.get("--edges") == [AUTO]:
        chosen.setdefault("structure", "auto")  # Its settings are options once it is chosen.
    of_run = {each.flag for each in options_of(TrainConfig)}
    flags = {flag.removeprefix("--").replace("-", "_"): None for flag in given.keys() - of_run}
    return implied_parts(config, flags | chosen) | chosen


def run_config(out: Path) -> dict[str, Any]:
    """The settings of a run as they were written, if a run can have them."""
    config = read_config(out)
    own = own_parts(config["settings"])
    try:
        others = {name: value for name, value in config["settings"].items() if name not in own}
        settings = restored(config["agent"], others)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UnreadableError(f"{out / CONFIG} is damaged: {error}") from None
    unsaid = {"max_episode_steps": 0, "roms": "", "constraints": [], "no_action": "stop"}
    return {**unsaid, **config, "settings": to_dict(settings) | own}


def own_parts(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parts of the user's own in stored settings, by name: only what they were is stored."""
    return {
        name: value
        for name, value in settings.items()
        if isinstance(value, dict) and value.get("name") == CUSTOM
    }
