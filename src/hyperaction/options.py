"""What `hyperaction train` takes: an environment, an agent by name, and every setting of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from hyperaction.agents.settings import AgentName, PresetName, ValueSettings, preset


@dataclass(frozen=True)
class TrainOptions:
    """Train an agent on a Gymnasium environment.

    Phases of training alternate with evaluations in an environment of their own. The defaults shown
    are those of the agent and the preset named beside --help.
    """

    env: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
    """A Gymnasium id, or module:Id."""
    agent: AgentName = "hgqn"
    """The agent; its settings can be changed one by one below."""
    preset: PresetName = "physical"
    """The paper's settings for physical control, or modern ones that learn faster."""
    rank: int = 0
    """All hyperedges up to this order, instead of --orders; 0 leaves --orders."""
    steps: int = 1_000_000
    """Environment steps to train for."""
    phase_steps: int = 10_000
    """Steps of training between evaluations, at least; phases are whole episodes."""
    evaluation_steps: int = 5_000
    """Steps of an evaluation, at least; it is whole episodes."""
    seed: int = 0
    """Where all random numbers come from."""
    out: Path = Path("results/run")
    """The directory for the run."""
    bins: tuple[int, ...] = (5,)
    """Sub-actions per dimension of a Box action space: one number, or one per dimension."""
    action_shape: tuple[int, ...] = ()
    """The sizes that a Discrete action space is the product of."""
    settings: Annotated[ValueSettings, tyro.conf.arg(name="")] = field(
        default_factory=ValueSettings
    )

    def __post_init__(self) -> None:
        for option in ("steps", "phase_steps", "evaluation_steps"):
            if getattr(self, option) < 1:
                raise ValueError(f"--{option.replace('_', '-')} {getattr(self, option)} is below 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"--seed {self.seed} is below 0 or too large")
        if self.rank < 0:
            raise ValueError(f"--rank {self.rank} is below 0")

    @property
    def agent_settings(self) -> ValueSettings:
        """The agent's settings, with `rank` spelt out as orders."""
        if not self.rank:
            return self.settings
        return replace(self.settings, orders=tuple(range(1, self.rank + 1)))

    def config(self) -> dict[str, Any]:
        """Every setting, ready for JSON; where the run is kept is not one of them."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in OWN}
        agent = self.agent_settings
        return {**own, "settings": {f.name: getattr(agent, f.name) for f in fields(agent)}}


OWN = ("settings", "rank", "out")


def defaults(args: list[str]) -> TrainOptions:
    """The defaults of the agent and preset that the arguments name, for the help and the rest."""

    def named(option: str, default: str) -> str:
        for place, arg in enumerate(args):
            if arg == option and place + 1 < len(args):
                return args[place + 1]
            if arg.startswith(f"{option}="):
                return arg.split("=", 1)[1]
        return default

    agent, name = named("--agent", "hgqn"), named("--preset", "physical")
    try:
        settings = preset(agent, name)  # type: ignore[arg-type]
    except KeyError:
        settings = ValueSettings()  # A wrong name is told by the parser, with the right ones.
    return TrainOptions(env=tyro.MISSING, settings=settings)
