"""What commands share at the terminal: errors, progress, missing packages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from hyperaction.errors import SettingError, printable


class UserError(Exception):
    """An error that is shown in one line, without a traceback."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class RunEnvironment:
    """Which environment the agent of a run is played in."""

    env: str = ""
    """The environment, instead of the one in the settings of the run."""
    trust: bool = False
    """Import the modules that the settings of the run name: of its environment (module:Id), and of
    parts of somebody's own (module:Class)."""
    network: str = ""
    """The network of your own that the agent was trained with, as module:Class."""
    mixer: str = ""
    """The mixer of your own that the agent was trained with, as module:Class."""

    @property
    def parts(self) -> dict[str, str]:
        """Parts of one's own, by their names."""
        return {"network": self.network, "mixer": self.mixer}


STOPPED = 130
"""The exit code of a command that was asked to stop."""


def error_message(error: Exception) -> str:
    """The message of an error: settings as options, no error numbers of the system."""
    if isinstance(error, SettingError):
        return error.for_command_line
    if not isinstance(error, OSError) or not error.strerror or error.filename is None:
        return str(error)
    if isinstance(error, FileExistsError):
        return f"{error.filename} is a file, not a directory"
    return f"{error.filename}: {error.strerror}"


def print_error(message: str) -> None:
    """Prints a message in one line, whatever names it contains."""
    print(f"hyperaction: {printable(' '.join(message.splitlines()))}", file=sys.stderr)


def check_any(found: object, what: str, problems: Sequence[str]) -> None:
    """Prints why runs were left out; if none is left, raises `UserError` instead.

    Args:
        found: The runs that are left.
        what: What was sought, such as "run in results".
        problems: What is wrong with others.
    """
    if not found:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UserError(f"no {what}" + (f": {problems[0]}{more}" if problems else ""), code=1)
    for problem in problems:
        print_error(f"skipped {problem}")


def need(module: str, *, extra: str, unless: str = "") -> None:
    """Raises `UserError` if a module of an extra is not installed."""
    if find_spec(module) is None:
        otherwise = f" (or {unless})" if unless else ""
        raise UserError(f"this needs {module}: pip install 'hyperaction[{extra}]'{otherwise}")
