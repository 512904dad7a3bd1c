"""Messages for people: settings by the name that they were given by, and what was meant."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Iterable


class SettingError(ValueError):
    """A setting that cannot be used.

    The message names settings in backticks. In Python they read as arguments (`batch_size`); the
    command line turns them into options (`--batch-size`).
    """

    def __init__(self, template: str) -> None:
        super().__init__(template.replace("`", ""))
        self.template = template

    @property
    def for_command_line(self) -> str:
        """The message with settings as options."""
        return for_command_line(self.template)

    def with_prefix(self, prefix: str) -> SettingError:
        """The same error for a part of a larger configuration: its settings get the prefix."""
        return SettingError(re.sub(r"`(\w+)`", rf"`{prefix}.\1`", self.template))


def for_command_line(message: str) -> str:
    """A message with settings, which are in backticks, as options."""
    return re.sub(r"`([\w.]+)`", lambda name: option(name[1]), message)


def option(setting: str) -> str:
    """A setting as the command line writes it."""
    return f"--{setting.replace('_', '-')}"


def needs(name: str, package: str, extra: str, last_python: tuple[int, int] | None = None) -> str:
    """The message for a package that is missing.

    Args:
        name: What needs it.
        package: The package.
        extra: The extra that installs it.
        last_python: The last version of Python that it can be installed for, if later ones are too
            new.
    """
    message = f"{name} needs {package}"
    if last_python is not None and sys.version_info[:2] > last_python:
        last, here = (".".join(map(str, each[:2])) for each in (last_python, sys.version_info))
        return f"{message}, which can be installed up to Python {last}; this is {here}"
    return f"{message}: pip install 'hyperaction[{extra}]'"


ELSEWHERE = {
    "gamma": "discount",
    "lr": "learning_rate",
    "tau": "target.rate",
    "train_freq": "train_frequency",
    "n_steps": "n_step",
    "net_arch": "hidden",
    "replay_size": "buffer_size",
    "start_timesteps": "learning_starts",
    "total_timesteps": "steps",
    "timesteps": "steps",
    "epsilon": "exploration.epsilon",
    "exploration_fraction": "exploration.decay_steps",
    "exploration_final_eps": "exploration.final",
    "end_e": "exploration.final",
    "target_update_interval": "target.interval",
    "target_network_frequency": "target.interval",
    "max_grad_norm": "gradient_clip",
    "n_envs": "num_envs",
    "eval_freq": "phase_steps",
    "double_q": "objective.double",
}
"""Settings as other libraries call them, and here."""


def called_elsewhere(name: str, known: Iterable[str]) -> str:
    """The known setting that other libraries call so, as an argument or an option; else empty."""
    here = ELSEWHERE.get(name.lstrip("-").replace("-", "_"), "")
    names = [option(here), option(here.rsplit(".", 1)[-1]), here, here.rsplit(".", 1)[-1]]
    return next((each for each in names if here and each in set(known)), "")


def unknown(kind: str, name: object, names: Iterable[str], otherwise: str = "") -> str:
    """The message for an unknown name: the most similar known name, or else all of them.

    Args:
        kind: What the name is of, such as "preset".
        name: The unknown name.
        names: The known names.
        otherwise: Shown instead of all names if none is similar.
    """
    known = list(names)
    if here := called_elsewhere(str(name), known):
        return f"unknown {kind} '{name}'; it is called '{here}' here"
    similar = known if len(known) == 1 else difflib.get_close_matches(str(name), known, n=1)
    if similar:
        hint = f"did you mean '{similar[0]}'?"
    else:
        hint = otherwise or f"choose from {', '.join(known)}"
    return f"unknown {kind} '{name}'; {hint}"


def check_ranges(options: object, **ranges: tuple[float, float]) -> None:
    """Raises `SettingError` unless each option is in its range, both ends included.

    Args:
        options: An object with an attribute per option.
        **ranges: The lowest and the highest allowed value of each option.
    """
    for name, (low, high) in ranges.items():
        value = getattr(options, name)
        if not low <= value <= high:
            allowed = f"at least {low}" if high == math.inf else f"from {low} to {high}"
            raise SettingError(f"`{name}` must be {allowed}, not {value}")


def printable(text: str, keep: str = "") -> str:
    """Text whose control characters cannot steer a terminal: they are shown as escapes, `\\x1b`.

    Args:
        text: Any text, such as a name from a file.
        keep: Characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in text
    )
