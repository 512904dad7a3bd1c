"""The user's own classes and functions by name, `module:Class`: imported when they are needed.

They are code, so only what the user typed, or said to trust, is ever imported.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from hyperaction.errors import SettingError, unknown

REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_reference(text: object) -> bool:
    """Whether a text has the form of `module:Class`."""
    return isinstance(text, str) and REFERENCE.fullmatch(text) is not None


def look_here() -> None:
    """Modules in the current directory can be imported too."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # Last: a module beside the user replaces no other.


def load(reference: str, setting: str) -> Any:
    """What a reference names.

    Args:
        reference: `module:Class`.
        setting: The setting that it is the value of, for messages.
    """
    if not is_reference(reference):
        raise SettingError(f"`{setting}` {reference}: write module:Class, such as parts:MyNetwork")
    module, _, name = reference.partition(":")
    look_here()
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        which = f"no module {error.name} here ({os.getcwd()}) or among installed packages"
        raise SettingError(f"`{setting}` {reference}: there is {which}") from None
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SettingError(
            f"`{setting}` {reference}: importing it raised {reason} ({where})"
        ) from None
    if not hasattr(found, name):
        names = [each for each in vars(found) if not each.startswith("_")]
        hint = unknown("name", name, names, "it defines no similar name")
        raise SettingError(f"`{setting}` {reference}: in {module}, {hint}")
    return getattr(found, name)


@dataclass(frozen=True)
class Imported:
    """A part of the user's own by its reference, which is all that is stored of it.

    Called as its kind of part is: a function is called, a class too if it takes these arguments;
    otherwise one made without arguments is the part, or is called.
    """

    reference: str = field(metadata={"hidden": True})
    setting: str = field(metadata={"hidden": True})

    def __str__(self) -> str:
        return self.reference

    def load(self) -> Any:
        """What the reference names."""
        return load(self.reference, self.setting)

    def __call__(self, *args: Any, **more: Any) -> Any:
        found = self.load()
        if isinstance(found, type) and not _takes(found, args, more):
            try:
                found = found()
            except TypeError as error:
                raise SettingError(f"`{self.setting}` {self.reference}: {error}") from None
        return found(*args, **more) if _takes(found, args, more) else found

    @property
    def of_layout(self) -> Any:
        """As a state network has it, if it does."""
        found = self.load()
        made = found() if isinstance(found, type) and hasattr(found, "of_layout") else found
        return made.of_layout


def _takes(function: Any, args: tuple[Any, ...], more: Mapping[str, Any]) -> bool:
    """Whether something can be called with these arguments."""
    try:
        signature(function).bind(*args, **more)
    except (TypeError, ValueError):
        return False
    return True
