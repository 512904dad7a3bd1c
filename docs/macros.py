"""What pages of the site are filled with when it is built: `zensical.toml` names this file."""

import contextlib
import dataclasses
import io
import os
from typing import Any

import hyperaction
from hyperaction.cli import bench, main
from hyperaction.cli.main import COMMANDS

WIDTH = "80"
"""Characters in a line of help."""


def define_env(env: Any) -> None:
    """Makes these functions available in pages with `render_macros: true`."""
    env.macro(commands)
    env.macro(settings)


def commands() -> str:
    """All commands by group, each with what its own `--help` prints."""
    lines, group = [], ""
    for name, command in COMMANDS.items():
        if command.group != group:
            group = command.group
            lines.append(f"## {group}\n")
        lines += [f"### {name}\n", _help(name)]
        if name == "bench":
            lines += [_help(name, topic) for topic in bench.TOPICS]
    return "\n".join(lines)


def settings(*names: str) -> str:
    """Parts of agents, each with what can be set: the fields of its class."""
    blocks = []
    for name in names:
        fields = [field.name for field in dataclasses.fields(getattr(hyperaction, name))]
        options = f"{{ members: {fields}, inherited_members: true }}"
        blocks.append(f"::: hyperaction.{name}\n    options: {options}\n")
    return "\n".join(blocks)


def _help(*command: str) -> str:
    """What a command prints when it is asked for help, as a block of text."""
    printed = io.StringIO()
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*command, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return f"```text\n{printed.getvalue().rstrip()}\n```\n"
