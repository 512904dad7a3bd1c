"""The terminal as commands print to it."""

from __future__ import annotations

from typing import IO, Any

import rich.console
from rich.text import Text

from hyperaction.errors import printable


class Console(rich.console.Console):
    """A console that takes text as it is: no markup, and control characters shown as escapes.

    Names of runs, environments and agents come from files, which may be a stranger's.
    """

    def __init__(self, file: IO[str] | None = None, width: int | None = None) -> None:
        super().__init__(file=file, width=width, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every text that is printed, also in tables, comes by here."""
        return super().render_str(printable(text, keep="\n"), **options)
