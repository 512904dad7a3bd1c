"""Arguments into settings; a mistake is told in one line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from typing import Any


class ArgumentError(ValueError):
    """Arguments that spell no settings."""


def parse(settings: type[Any], command: str, args: Sequence[str], default: Any = None) -> Any:
    """The settings that the arguments of a command spell."""
    import tyro

    said = StringIO()
    try:
        with redirect_stderr(said):
            given = {} if default is None else {"default": default}
            return tyro.cli(settings, prog=f"hyperaction {command}", args=args, **given)
    except SystemExit as stop:
        if not stop.code:
            raise
        told = _told(said.getvalue()).removeprefix(f"Error parsing {settings.__name__}: ")
        raise ArgumentError(f"{told} (hyperaction {command} --help)") from None


def _told(box: str) -> str:
    """The one line that matters of tyro's framed message, with its first suggestion."""
    sections: list[list[str]] = [[]]
    for line in box.splitlines():
        text = line.strip("│| \n")
        if line.startswith(("╭", "╰", "+")) or not text:
            continue
        if set(text) <= set("─-"):
            sections.append([])
        else:
            sections[-1].append(text)
    if not box.lstrip().startswith(("╭", "+")):  # Without a frame, the title is a section too.
        del sections[0]
    problem = " ".join(sections[0]).removesuffix(".")
    suggestions = [section[1] for section in sections if section[0].startswith("Perhaps")]
    hint = f"; did you mean {suggestions[0].split()[0].rstrip(',')}?" if suggestions else ""
    return f"{problem}{hint}"
