"""A trained agent from a run's directory or a file, whose settings may be a stranger's.

They choose no code to run: what they name is imported only where the user typed or trusts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hyperaction.api import AGENT_CLASSES, HGQN, BaseAgent
from hyperaction.baselines import BASELINES
from hyperaction.envs.guard import short, unguarded
from hyperaction.envs.ids import names_code
from hyperaction.envs.make import make_env
from hyperaction.errors import SettingError
from hyperaction.references import is_reference
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.runs.files import read_about
from hyperaction.runs.reader import CONFIG, read_config
from hyperaction.training.config import own_parts, run_config

BY_REFERENCE = ("network", "mixer")
"""Parts that may be the user's own, as module:Class."""


class MakeEnv(Protocol):
    """Makes the environment of a run."""

    def __call__(self, render_mode: str | None = None) -> Any:
        """The environment, optionally rendered."""
        ...


class Loaded(NamedTuple):
    """An agent, and what makes its environment."""

    learner: BaseAgent
    env: str
    make_env: MakeEnv


def load_agent(
    run: Path, env: str = "", trust: bool = False, parts: Mapping[str, str] | None = None
) -> Loaded:
    """The agent of a run or of a file.

    Args:
        run: The directory of the run, or the file of an agent; a file in the directory of a run
            has the run's environment.
        env: The environment to use, instead of the one in the settings.
        trust: Whether modules that the settings name may be imported.
        parts: Parts of the user's own that the agent was trained with, as module:Class by the
            names of their settings.
    """
    folder = run if run.is_dir() or not run.is_file() else run.parent
    if run.is_file() and not (folder / CONFIG).exists():
        if not env:
            raise SettingError(f"{run} does not say which environment it is for: give `env`")
        settings = _about(run).get("settings")
        config: dict[str, Any] = {"max_episode_steps": 0, "roms": "", "no_action": None}
    else:
        if (name := read_config(folder)["agent"]) in BASELINES:
            raise ValueError(f"{run} is a run of the baseline {name}, which is not stored")
        config = run_config(folder)
        env, settings = env_of(config, env, trust), config["settings"]
    file = run if run.is_file() else folder / AGENT_FILE
    if not file.exists():
        raise ValueError(f"{run} holds no agent yet: it is written with the first checkpoint")

    def make(render_mode: str | None = None) -> Any:
        limit, roms = config["max_episode_steps"], config["roms"]
        return make_env(env, limit, unguarded, render_mode, roms)

    own = _own(settings, trust, parts or {})
    learner = _class_of(file).load(file, **own)
    if config["no_action"]:
        learner.interface = replace(learner.interface, no_action=config["no_action"])
    return Loaded(learner, env, make)


def env_of(config: Mapping[str, Any], env: str = "", trust: bool = False) -> str:
    """The environment of a run, whose settings may be a stranger's and choose no code to run.

    Args:
        config: The settings of the run.
        env: The environment to use, instead of the one in the settings.
        trust: Whether a module that the settings name may be imported.
    """
    name = env or str(config["env"])
    if config.get("env_object") and not env:
        raise SettingError(
            f"the run was trained in Python, in an environment that no id makes ({short(name)}): "
            f"give `env`"
        )
    if names_code(name) and not env and not trust:
        raise SettingError(
            f"the run's environment is {short(name)}, a module that would be imported: give `env` "
            f"{short(name)}, or `trust` if you know where the run is from"
        )
    return name


def _own(settings: Any, trust: bool, given: Mapping[str, str]) -> dict[str, Any]:
    """The parts of the user's own: those that were typed, and those that the settings name."""
    own: dict[str, Any] = {name: reference for name, reference in given.items() if reference}
    for name, stored in own_parts(settings if isinstance(settings, dict) else {}).items():
        reference = stored.get("is")
        if name in own or name not in BY_REFERENCE or not is_reference(reference):
            continue
        if not trust:
            raise SettingError(
                f"the run's {short(name)} is {short(reference)}, a module that would be imported: "
                f"give `{name}` {short(reference)}, or `trust` if you know where the run is from"
            )
        own[name] = reference
    return own


def _class_of(file: Path) -> type[BaseAgent]:
    """The class of the agent in a file; of a file that says none, one that will refuse it."""
    return AGENT_CLASSES.get(_about(file).get("agent"), HGQN)  # type: ignore[arg-type]


def _about(file: Path) -> dict[str, Any]:
    """What a file says of its agent, not verified yet."""
    about = read_about(file)
    return about if isinstance(about, dict) else {}
