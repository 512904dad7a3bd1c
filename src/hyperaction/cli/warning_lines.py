"""Warnings of other packages: one line each, once, and not beside the line of a mistake.

Gymnasium warns in several lines with colours, also about an id that is then refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hyperaction.cli.terminal import print_error

COLOURS = re.compile(r"\x1b\[[\d;]*m")


class WarningLines:
    """Takes warnings, and prints them once the command is known to be right."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._is_held = True

    def take(self, message: Warning | str, *where: Any, **more: Any) -> None:
        """Takes a warning, as `warnings.showwarning`."""
        text = " ".join(COLOURS.sub("", str(message)).split())
        line = f"warning: {text.removeprefix('WARN: ')}"
        if line not in self._lines and not self._is_held:
            print_error(line)
        self._lines[line] = None

    def release(self) -> None:
        """Prints those that were taken; from now on each at once."""
        if self._is_held:
            self._is_held = False
            for line in self._lines:
                print_error(line)


_current = WarningLines()


@contextmanager
def held_warnings() -> Iterator[None]:
    """Holds warnings back until the block ends; one that raises drops them."""
    global _current
    before, _current = _current, WarningLines()
    with warnings.catch_warnings():
        warnings.showwarning = _current.take
        try:
            yield
            release_warnings()
        finally:
            _current = before


def release_warnings() -> None:
    """The command is right: warnings are printed as they come."""
    _current.release()
